// The view of one series: its chart, the night under the cursor, and all numbers as a table.

const data = JSON.parse(document.getElementById("data").textContent);
const byKey = new Map(data.series.map((one) => [one.key, one]));
const view = document.getElementById("view");
const shown = { series: null, points: [], chart: null, index: 0 };

function made(name, attributes = {}, ...inside) {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.append(...inside);
  return one;
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

// Nights that follow one another are written as the first and their number.
function unrolled(runs) {
  const found = [];
  for (let i = 0; i < runs.length; i += 2) {
    for (let n = 0; n < runs[i + 1]; n += 1) found.push(runs[i] + n);
  }
  return found;
}

// Floats of which only the upper 24 bits are written.
function floats(text) {
  const upper = new Uint8Array(bytes(text)), whole = new Uint8Array(upper.length / 3 * 4);
  for (let i = 0; i < upper.length; i += 1) whole[i + Math.floor(i / 3) + 1] = upper[i];
  return new Float32Array(whole.buffer);
}

// The nights of a series; packed.py says how they are packed.
function unpacked(series) {
  const medians = floats(series.median), ends = new Uint16Array(bytes(series.ends));
  const kinds = new (data.kinds.length > 256 ? Uint16Array : Uint8Array)(bytes(series.kind));
  const nights = unrolled(series.night);
  return Array.from(medians, (raw, i) => {
    const median = raw * series.factor, part = Math.abs(median) / 20000;
    const end = (at, sign) => (ends[at] === 65535 ? null : median + sign * ends[at] * part);
    const [nodes, left, launches, disturbed] = data.kinds[kinds[i]];
    return {
      median, low: end(i, -1), high: end(i + medians.length, 1), night: nights[i], nodes, left, launches, disturbed,
    };
  });
}

// Per night, what changed of the site, of the toolchain or of the nodes of a series.
function changesOf(series) {
  const own = new Set(shown.points.flatMap((one) => one.nodes.split("+")));
  const concerns = ([subject, , nodes]) => (nodes ? nodes.some((one) => own.has(one)) : !subject || subject === series.environ || own.has(subject));
  const told = ([, text, nodes = []]) => {
    const here = nodes.filter((one) => own.has(one));
    return text + (here.length > 1 ? ` on ${here.length} nodes` : here.map((one) => ` on ${one}`).join(""));
  };
  return Object.entries(data.changes)
    .map(([night, some]) => [Number(night), some.filter(concerns).map(told)])
    .filter(([, some]) => some.length);
}

// Per night with nodes that the series never had before, how they differ from the last ones; as in node_sets.py.
function moves() {
  const nights = new Map(), found = [], most = 4;
  for (const { night, nodes } of shown.points) {
    if (nodes) nights.set(night, new Set([...nights.get(night) ?? [], ...nodes.split("+")]));
  }
  const listed = (all) => {
    const more = all.length > most ? [`${all.length - most} more`] : [];
    return [...all.sort().slice(0, most), ...more].join(", ") || "none";
  };
  const seen = new Set();
  let before = new Set();
  for (const [night, after] of nights) {
    const gone = [...before].filter((one) => !after.has(one)), come = [...after].filter((one) => !before.has(one));
    const isLarge = Math.max(before.size, after.size) > most;
    const sides = isLarge ? [gone, come] : [[...before], [...after]];
    const same = isLarge ? `${before.size - gone.length} nodes in common, and ` : "";
    const name = [...after].sort().join("+");
    if (before.size && !seen.has(name)) found.push([night, `node set: ${same}${listed(sides[0])} → ${listed(sides[1])}`]);
    seen.add(name);
    before = after;
  }
  return found;
}

function valued(one, unit) {
  const interval = one.low === null ? "" : ` [${number(one.low)}, ${number(one.high)}]`;
  return `${number(one.median)}${interval} ${unit}`;
}

function remark(one) {
  const said = [one.left, shown.series.told.spikes.includes(one.night) ? "stands alone" : ""];
  return said.filter(Boolean).join(", ");
}

function pointAt(index) {
  const { points, series, chart } = shown, one = points[index];
  shown.index = index;
  chart.point(index);
  const told = [
    `Night ${one.night + 1}, ${data.nights[one.night]}: ${valued(one, series.unit)}; `,
    `${one.launches} launches${one.disturbed ? `, ${one.disturbed} disturbed` : ""}${one.nodes ? `; on ${one.nodes}` : ""}`,
  ];
  const why = remark(one), link = data.reports[one.night];
  if (why) told.push(`; left out: ${why}`.replace("left out: stands alone", "stands alone"));
  const changed = new Map(changesOf(series)).get(one.night);
  if (changed) told.push(`. Changed since the night before: ${changed.join("; ")}`);
  const readout = view.querySelector(".readout");
  readout.replaceChildren(told.join(""), ". ");
  if (link) readout.append(made("a", { href: link }, "Report of this night"));
}

function redraw() {
  const svg = view.querySelector(".chart");
  if (!svg) return;
  shown.chart = new Chart(svg, shown.series, shown.points, view.querySelector("[name=whole]").checked);
  pointAt(Math.min(shown.index, shown.points.length - 1));
}

function keyed(event) {
  const last = shown.points.length - 1;
  const to = {
    ArrowLeft: shown.index - 1, ArrowRight: shown.index + 1, Home: 0, End: last,
    PageUp: shown.index - 10, PageDown: shown.index + 10,
  }[event.key];
  if (to !== undefined) pointAt(Math.min(last, Math.max(0, to)));
  else if (event.key === "Enter") view.querySelector(".readout a")?.click();
  else return;
  event.preventDefault();
}

function legend() {
  const sign = (name, d) => {
    const svg = drawn("svg", { class: "chart", viewBox: "0 0 14 12" });
    svg.append(drawn("path", { class: name, d }));
    return svg;
  };
  const { sets } = shown.chart;
  const items = sets.slice(0, 2 * SETS).map((nodes, i) => [
    sign(`point set${i % SETS}`, SHAPES[i % SETS](7, 6, 4)), ` ${nodes || "all nights"}`,
  ]);
  if (sets.length > items.length) items.push([`and ${sets.length - items.length} more sets of nodes`]);
  if (shown.points.some((one) => one.left)) items.push([sign("point left-out set0", SHAPES[0](7, 6, 4)), " left out of detection"]);
  if (shown.series.told.spikes.length) items.push([sign("spike", SHAPES[0](7, 6, 5)), " stands alone"]);
  if (changesOf(shown.series).length) items.push([sign("tick", "M7 1V11"), " a recorded fact changed"]);
  if (shown.series.told.drift) items.push([sign("drift", "M0 9L14 3"), " drift"]);
  return made("ul", { class: "legend" }, ...items.map((one) => made("li", {}, ...one)));
}

// What changed at a night, or at most two nights from it: a step is placed by an estimate.
function nearest(night) {
  const away = ([one]) => Math.abs(one - night);
  const nearestOf = (some) => some.filter((one) => away(one) <= 2).sort((a, b) => away(a) - away(b))[0];
  const facts = nearestOf(changesOf(shown.series)), moved = nearestOf(moves());
  const told = facts ? [...facts[1]] : [];
  if (moved && (!facts || [night, facts[0]].includes(moved[0]))) told.push(moved[1]);
  return told.join("; ") || "nothing that is recorded";
}

// What the detection says, in sentences.
function story() {
  const { told } = shown.series, night = (i) => `night ${i + 1} (${data.nights[i]})`;
  const lines = told.steps.map((one) => `Step at ${night(one.night)}: ${one.ratio.toFixed(3)} times the level before `
    + `[${one.low.toFixed(3)}, ${one.high.toFixed(3)}], statistic ${number(Math.abs(one.evidence))} against a threshold of ${number(one.threshold)}. `
    + `What changed there: ${nearest(one.night)}.`);
  if (told.drift) lines.push(`Drift: ${told.drift.a_year.toFixed(3)} times in a year [${told.drift.low.toFixed(3)}, ${told.drift.high.toFixed(3)}].`);
  if (told.newest?.is_outside) lines.push(`The last night stands out: ${told.newest.ratio.toFixed(3)} times the level, where [${told.newest.low.toFixed(3)}, ${told.newest.high.toFixed(3)}] was expected.`);
  if (told.why) lines.push(`Nothing can be told: ${told.why}.`);
  else if (!lines.length) lines.push("No step and no drift.");
  if (told.would_see !== null) lines.push(`A step of ${number(100 * told.would_see, 2)}\u00a0% would show within 10 nights.`);
  return made("p", { class: "story" }, `${told.used} of ${shown.points.length} points were used. ${lines.join(" ")}`);
}

// The numbers of the chart; made when it is opened, because it may have a thousand rows.
function twin() {
  const { points, series } = shown, heads = ["Night", "Number", `Median, ${series.unit}`, "Low", "High", "Launches", "Disturbed", "Nodes", "Remark"];
  const cell = (text, index) => made("td", index && index < 7 ? { class: "right" } : {}, made("span", {}, text));
  const body = points.map((one, i) => {
    const link = data.reports[one.night], name = data.nights[one.night];
    const first = made("th", { scope: "row" }, link ? made("a", { href: link }, name) : name);
    const rest = [`${one.night + 1}`, number(one.median, 4), number(one.low, 4), number(one.high, 4),
      `${one.launches}`, `${one.disturbed}`, one.nodes, remark(one)];
    return made("tr", {}, first, ...rest.map((text, at) => cell(text, at + 1)));
  }).reverse();
  const head = made("tr", {}, ...heads.map((text, i) => made("th", { scope: "col", class: i && i < 7 ? "right" : "" }, text)));
  return made("table", {}, made("thead", {}, head), made("tbody", {}, ...body));
}

function changedList() {
  const some = changesOf(shown.series);
  if (!some.length) return "";
  const lines = some.reverse().map(([night, texts]) => made("li", {}, `Night ${night + 1}, ${data.nights[night]}: ${texts.join("; ")}`));
  return made("details", {}, made("summary", {}, `What changed beside it, on ${some.length} ${some.length === 1 ? "night" : "nights"}`), made("ul", {}, ...lines));
}

// Opens the view; `where` is its place in the table, `before` and `after` are the keys of its neighbours in the table, "" without one.
function show(series, [title, place], where, before, after) {
  Object.assign(shown, { series, points: unpacked(series) });
  shown.index = shown.points.length - 1;
  const step = (text, key) => {
    const button = made("button", { type: "button" }, text);
    button.disabled = !key;
    button.addEventListener("click", () => { location.hash = `series=${key}`; });
    return button;
  };
  const close = made("button", { type: "button" }, "Close");
  close.addEventListener("click", () => { location.hash = "series"; });
  const chart = drawn("svg", { class: "chart", tabindex: 0, role: "img", "aria-label": `${title}: all nights. Arrow keys choose a night, Enter opens its report.` });
  const whole = made("label", {}, made("input", { type: "checkbox", name: "whole" }), " whole range");
  const numbers = made("details", {}, made("summary", {}, "All numbers"));
  numbers.addEventListener("toggle", () => {
    if (!numbers.querySelector("table")) numbers.append(made("div", { class: "scroll" }, twin()));
  });
  const signs = made("div");
  view.hidden = false;
  view.replaceChildren(
    made("h2", { id: "view-title", tabindex: -1 }, title),
    made("div", { class: "bar" }, made("span", { class: "where" }, `${place} · ${where}`), whole, step("‹ Previous", before), step("Next ›", after), close),
    story(), made("div", {}, chart), made("output", { class: "readout", "aria-live": "polite" }), signs, changedList(), numbers,
  );
  redraw();
  signs.append(legend());
  chart.addEventListener("pointermove", (event) => pointAt(shown.chart.nearest(event)));
  chart.addEventListener("click", (event) => { pointAt(shown.chart.nearest(event)); });
  chart.addEventListener("keydown", keyed);
  whole.addEventListener("change", redraw);
}

// The view of a link to a series that only a superseded report has.
function absent() {
  view.replaceChildren(
    made("h2", { id: "view-title", tabindex: -1 }, "This series has no nights here"),
    made("p", {}, "No night that counts measured it: the report that you came from was superseded by a later revision, or is left out of this page."),
  );
}

addEventListener("resize", redraw);
