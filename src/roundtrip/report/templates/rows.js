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
  // A size is one word: 4 KiB is neither 64 KiB nor any row with a 4 in it.
  const words = plain(wanted.get("text")).match(/ \d+ (?:[kmg]i?)?b\b| [^ ]+/g) ?? [];
  const study = wanted.get("study"), environ = wanted.get("environ");
  let count = 0;
  for (const one of rows) {
    const fits = verdicts.has(one.verdict) && (!study || study === one.study)
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

// The fragment of the address says which series is open, so that a link restores it.
function follow() {
  const key = /^#series=([0-9a-f]+)$/.exec(location.hash)?.[1];
  for (const { row } of rows) row.classList.toggle("open", row.dataset.key === key);
  const series = byKey.get(key);
  if (!series) {
    if (key) absent();
    else view.replaceChildren();
    view.hidden = !key;
    if (key) view.scrollIntoView({ block: "start" });
    return;
  }
  const keys = visible(), at = keys.indexOf(key);
  const where = at < 0 ? "hidden by the filter" : `${at + 1} of ${keys.length}`;
  const row = rows.find((one) => one.key === key).row;
  const names = ["a", "small"].map((one) => row.cells[0].querySelector(one).textContent);
  const mark = row.cells[0].querySelector(".mark");
  if (mark) names[1] = `${mark.textContent}: ${names[1]}`;
  show(series, names, where, keys[at - 1] ?? "", at < 0 ? "" : keys[at + 1] ?? "");
  view.scrollIntoView({ block: "start" });
  document.getElementById("view-title").focus({ preventScroll: true });
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
  if (event.key === "Escape" && !view.hidden) location.hash = "series";
});
addEventListener("hashchange", follow);
filter();
follow();
