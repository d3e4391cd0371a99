// The page: figures come to life when they are near, links open what is folded.

const figures = new Map();

function alive(panel) {
  const name = panel.dataset.plot;
  if (!figures.has(name)) {
    figures.set(name, new Figure(panel));
    tabulate(panel, "Values", () => values(figures.get(name)));
  }
  return figures.get(name);
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
  tabulate(panel, "Values", () => [["Between", "and", "Value", "% worse than usual", "n"],
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
