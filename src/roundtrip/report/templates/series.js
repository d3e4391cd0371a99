// The figure of one series, brought to life: the night under the pointer with all that is known of
// it, and all numbers as a table.

const data = JSON.parse(document.getElementById("data").textContent);
const byKey = new Map(data.series.map((one) => [one.key, one]));
const LEFT_OUT = "Left out", ALONE = "Stands alone", OTHER = "Other nodes";
const live = new Map();

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
function changesOf(series, points) {
  const own = new Set(points.flatMap((one) => one.nodes.split("+")));
  const concerns = ([subject, , nodes]) => (nodes ? nodes.some((one) => own.has(one)) : !subject || subject === series.environ || own.has(subject));
  const words = ([, text, nodes = []]) => {
    const here = nodes.filter((one) => own.has(one));
    return text + (here.length > 1 ? ` on ${here.length} nodes` : here.map((one) => ` on ${one}`).join(""));
  };
  return Object.entries(data.changes)
    .map(([night, some]) => [Number(night), some.filter(concerns).map(words)])
    .filter(([, some]) => some.length);
}

function remark(series, one) {
  return [one.left, series.spikes.includes(one.night) ? "stands alone" : ""].filter(Boolean).join(", ");
}

// The numbers of the figure, the newest night first.
function numbers({ series, points }) {
  const heads = ["Night", "Number", `Median${series.unit && `, ${series.unit}`}`, "Low", "High", "Launches", "Disturbed", "Nodes", "Remark"];
  return [heads, ...points.map((one) => {
    const link = data.reports[one.night], name = data.nights[one.night];
    return [link ? element("a", { href: link }, name) : name, `${one.night + 1}`, number(one.median, 4), number(one.low, 4), number(one.high, 4),
      `${one.launches}`, `${one.disturbed}`, one.nodes, remark(series, one)];
  }).reverse()];
}

// The points of each curve that was painted, in its order.
function curvesOf(series, points) {
  const named = series.views[0].curves.map(({ name }) => name), own = named.filter((name) => ![LEFT_OUT, ALONE, OTHER].includes(name));
  const sets = series.sets.filter((nodes) => points.some((one) => one.nodes === nodes && !one.left && !series.spikes.includes(one.night)));
  const curveOf = (one) => (one.left ? LEFT_OUT : series.spikes.includes(one.night) ? ALONE : own[sets.indexOf(one.nodes)] ?? OTHER);
  return named.map((name) => {
    const rows = points.filter((one) => curveOf(one) === name);
    return { name, rows, points: rows.map((one) => [one.night + 1, one.median, one.low, one.high, one.launches]) };
  });
}

class Nights extends Figure {
  constructor(panel, series) {
    const points = unpacked(series), curves = curvesOf(series, points);
    super(panel, {
      name: `series=${series.key}`, title: panel.getAttribute("aria-label"), series, points,
      changed: new Map(changesOf(series, points)), views: series.views.map((view) => ({ ...view, curves })),
    });
    this.list();
  }

  // The arrow keys walk through all nights, whichever nodes they are of.
  get order() {
    const all = this.view.curves.flatMap((curve, c) => curve.points.map((point, p) => [c, p, point[0]]));
    return all.filter(([c]) => !this.state.off.has(c)).sort((a, b) => a[2] - b[2]);
  }

  row([c, p]) { return this.view.curves[c].rows[p]; }

  words(at) {
    const night = this.row(at).night;
    return { ...super.words(at), where: `Night ${night + 1}, ${data.nights[night]}` };
  }

  hold(at, isTold = true) {
    super.hold(at, isTold);
    if (!at) return;
    const one = this.row(at), { series, changed } = this.data, { where, value, spread } = this.words(at);
    const why = remark(series, one), link = data.reports[one.night];
    this.readout.replaceChildren([`${where}: ${[value, spread].filter(Boolean).join(" ")}`,
      `${one.launches} launch${one.launches === 1 ? "" : "es"}${one.disturbed ? `, ${one.disturbed} disturbed` : ""}`, one.nodes && `on ${one.nodes}`,
      why && `${one.left ? "left out: " : ""}${why}`].filter(Boolean).join("; "),
    changed.has(one.night) ? `. Changed since the night before: ${changed.get(one.night).join("; ")}. ` : ". ");
    if (link) this.readout.append(element("a", { href: link }, "Report of this night"));
  }

  // What changed beside the series, and all numbers.
  list() {
    const { changed } = this.data, some = [...changed].reverse();
    const items = some.map(([night, texts]) => element("li", {}, `Night ${night + 1}, ${data.nights[night]}: ${texts.join("; ")}`));
    if (items.length) {
      this.panel.append(element("details", {}, element("summary", {}, `What changed beside it, on ${items.length} ${items.length === 1 ? "night" : "nights"}`), element("ul", {}, ...items)));
    }
    tabulate(this.panel, "All numbers", () => numbers(this.data), 7);
  }
}

function alive(panel) {
  const { key } = panel.dataset;
  if (!live.has(key)) live.set(key, new Nights(panel, byKey.get(key)));
  return live.get(key);
}
