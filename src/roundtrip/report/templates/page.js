// The page: figures come to life when they are near, links open what is folded.

const figures = new Map();

function alive(panel) {
  const name = panel.dataset.plot;
  if (!figures.has(name)) {
    figures.set(name, new Figure(panel));
    tabulate(panel, () => values(figures.get(name)));
  }
  return figures.get(name);
}

// Rows of text, the heads first, as a table that is made when a reader opens it.
function tabulate(panel, rows) {
  const all = element("details", {}, element("summary", {}, "Values"));
  all.addEventListener("toggle", () => {
    all.querySelector(".scroll")?.remove();
    if (!all.open) return;
    const [heads, ...some] = rows();
    const cells = (row) => row.map((text, at) => (at ? element("td", { class: "right", "data-label": heads[at] }, text)
      : element("th", { scope: "row" }, text)));
    const head = heads.map((text, at) => element("th", { scope: "col", class: at ? "right" : "left" }, text));
    const body = some.map((row) => element("tr", {}, ...cells(row)));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
    all.append(element("div", { class: "scroll" }, table));
    sized.observe(all.lastChild);
  });
  panel.append(all);
}

// What a figure shows, a row for each place and a column for each curve.
function values(figure) {
  const { curves, x } = figure.view, rows = new Map();
  curves.forEach((curve, c) => curve.points.forEach(([place], p) => {
    const { where, value, spread } = figure.words([c, p]);
    if (!rows.has(place)) rows.set(place, [where, ...curves.map(() => "")]);
    rows.get(place)[c + 1] = `${value} ${spread}`.trim();
  }));
  const sorted = [...rows].sort(([one], [other]) => one - other).map(([, row]) => row);
  return [[figure.rows ? "What" : x.title, ...curves.map((curve) => curve.name)], ...sorted];
}

function unfold(target) {
  for (let at = target; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
}

function follow() {
  const [, name, said] = /^#([^?]*)(?:\?(.*))?$/.exec(location.hash) ?? [];
  if (!name) return;
  const panel = document.querySelector(`[data-plot="${CSS.escape(name)}"]`);
  const target = panel ?? document.getElementById(name);
  if (!target) return;
  unfold(target);
  if (panel) restore(alive(panel), new URLSearchParams(said));
  target.scrollIntoView({ block: panel ? "center" : "start" });
  if (panel) figures.get(name).svg.focus({ preventScroll: true });
}

const near = new IntersectionObserver((seen) => {
  for (const one of seen.filter((entry) => entry.isIntersecting)) {
    near.unobserve(one.target);
    alive(one.target);
  }
}, { rootMargin: "400px" });
for (const panel of document.querySelectorAll("[data-plot]")) near.observe(panel);
for (const panel of document.querySelectorAll("[data-heat]")) {
  const { cells, names } = new HeatMap(panel).data;
  tabulate(panel, () => [["Between", "and", "Value", "% worse than usual", "n"],
    ...cells.map(([row, column, ...rest]) => [names[row], names[column], ...rest.map(String)])]);
}

document.addEventListener("click", (event) => {
  const there = event.target.closest?.('a[href^="#"]');
  if (there && there.hash === location.hash) follow();
});
addEventListener("hashchange", follow);
follow();

for (const one of document.querySelectorAll("button.unfold")) {
  one.hidden = false;
  one.addEventListener("click", () => {
    const open = one.getAttribute("aria-pressed") !== "true";
    one.setAttribute("aria-pressed", String(open));
    for (const part of document.querySelectorAll("details.part")) part.open = open;
  });
}
for (const one of document.querySelectorAll("button.copy")) {
  one.hidden = false;
  one.addEventListener("click", () => copied(one, document.getElementById("summary").textContent));
}

async function copied(from, text) {
  await navigator.clipboard.writeText(text);
  from.textContent = "Copied";
}

// Keys scroll what is wider than the page.
const sized = new ResizeObserver((seen) => {
  for (const { target } of seen) target.toggleAttribute("tabindex", false);
  for (const { target } of seen) if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
});
for (const one of document.querySelectorAll(".scroll")) sized.observe(one);

function markdown(figure, caption) {
  const plain = (cell) => cell.textContent.replace(/\s+/g, " ").trim().replaceAll("|", "\\|");
  const [heads, ...rows] = [...figure.querySelectorAll("tr")].map((row) => [...row.cells]);
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const rule = heads.map((cell) => (cell.classList.contains("right") ? "---:" : "---"));
  return [caption, "", line(heads.map(plain)), line(rule), ...rows.map((row) => line(row.map(plain))), ""].join("\n");
}
for (const figure of document.querySelectorAll("figure.table")) {
  const caption = figure.querySelector("figcaption"), words = caption.firstChild.textContent.trim();
  const copy = button("Copy", "Copy this table as Markdown", null, () => copied(copy, markdown(figure, words)));
  caption.append(" ", copy);
}
