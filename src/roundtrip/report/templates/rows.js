// The table of all series: filter, order, and which one is open.

const form = document.getElementById("filter"), body = document.querySelector("#rows tbody");
const rows = [...body.rows].map((row, place) => ({
  row, place, text: plain(row.textContent), ...row.dataset,
}));

function plain(text) {
  return ` ${text.toLowerCase().replace(/[^a-z0-9.%-]+/g, " ")}`;
}

function visible() {
  return [...body.rows].filter((row) => !row.hidden).map((row) => row.dataset.key);
}

function filter() {
  const wanted = new FormData(form), verdicts = new Set(wanted.getAll("verdict"));
  const isAsked = form.elements.namedItem("verdict") !== null; // series that cannot be judged have none
  // A size is one word: 4 KiB is neither 64 KiB nor any row with a 4 in it.
  const words = plain(wanted.get("text")).match(/ \d+ (?:[kmg]i?)?b\b| [^ ]+/g) ?? [];
  const study = wanted.get("study"), environ = wanted.get("environ");
  let count = 0;
  for (const one of rows) {
    const fits = (!isAsked || verdicts.has(one.verdict)) && (!study || study === one.study)
      && (!environ || environ === one.environ) && words.every((word) => one.text.includes(word));
    if (one.row.hidden === fits) one.row.hidden = !fits;
    count += fits;
  }
  document.getElementById("found").textContent = `${count} of ${rows.length} series`;
}

function order() {
  const by = form.elements.order.value;
  const sorted = [...rows].sort((a, b) => (by === "name" && a.text.localeCompare(b.text, "en", { numeric: true }))
    || (by === "ratio" && b.ratio - a.ratio) || a.place - b.place);
  body.append(...sorted.map((one) => one.row));
}

// The bar above an open figure: its place in the table, its neighbours there, and a way back.
function bar(key) {
  const keys = visible(), at = keys.indexOf(key), where = at < 0 ? "hidden by the filter" : `${at + 1} of ${keys.length}`;
  const go = (text, to) => {
    const made = button(text, text, null, () => { location.hash = to; });
    made.disabled = to === "series=";
    return made;
  };
  return element("div", { class: "bar" }, element("span", {}, where), go("\u2039 Previous", `series=${keys[at - 1] ?? ""}`),
    go("Next \u203a", `series=${at < 0 ? "" : keys[at + 1] ?? ""}`), go("Close", "series"));
}

// The fragment of the address says which figure is open, and what is seen of it.
function follow() {
  const [, key, said] = /^#series=([0-9a-f]+)(?:\?(.*))?$/.exec(location.hash) ?? [];
  for (const { row } of rows) row.classList.toggle("open", row.dataset.key === key);
  for (const one of document.querySelectorAll(".nights-of.open")) one.classList.remove("open");
  document.querySelector(".nights-of .bar")?.remove();
  const isHere = rows.some(({ row }) => row.dataset.key === key);
  document.getElementById("absent").hidden = !key || isHere;
  if (!key) return;
  const panel = document.getElementById(isHere ? `series=${key}` : "absent");
  panel.classList.add("open");
  panel.scrollIntoView({ block: "start" });
  if (byKey.has(key)) {
    restore(alive(panel), new URLSearchParams(said));
    panel.querySelector("h2").after(bar(key));
    panel.querySelector("h2").focus({ preventScroll: true });
  }
}

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("change", order);
form.addEventListener("submit", (event) => event.preventDefault());
body.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row && !event.target.closest("a")) location.hash = `series=${row.dataset.key}`;
});
addEventListener("keydown", (event) => {
  if (event.defaultPrevented) return; // a figure let go of its point
  if (event.key === "Escape" && document.querySelector(".nights-of.open")) location.hash = "series";
});
addEventListener("hashchange", follow);
filter();
follow();
