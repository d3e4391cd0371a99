// The chart of one series: nights across, values up; drawn anew for each width.

const EDGE = { left: 70, right: 18, top: 34, bottom: 44 }, SETS = 6;
const SHAPES = [
  (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (x, y, r) => `M${x} ${y - r}l${r} ${1.8 * r}h${-2 * r}z`,
  (x, y, r) => `M${x} ${y - 1.3 * r}l${1.3 * r} ${1.3 * r}l${-1.3 * r} ${1.3 * r}l${-1.3 * r} ${-1.3 * r}z`,
  (x, y, r) => `M${x} ${y + r}l${r} ${-1.8 * r}h${-2 * r}z`,
  (x, y, r) => `M${x - r} ${y - 0.6 * r}h${2 * r}v${1.2 * r}h${-2 * r}z`,
];

function drawn(name, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

function middle(values) {
  const sorted = [...values].sort((a, b) => a - b), half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

class Chart {
  constructor(svg, series, points, isWhole) {
    this.svg = svg;
    this.series = series;
    this.points = points;
    this.spikes = new Set(series.told.spikes);
    this.sets = [...new Set(points.map((one) => one.nodes))].sort();
    this.usual = points.filter((one) => !one.left && !this.spikes.has(one.night));
    this.width = Math.max(300, svg.parentElement.clientWidth);
    // Neighbours shall not cover each other, but a point must be seen.
    this.radius = Math.min(3.4, Math.max(1.6, 0.42 * (this.width - EDGE.left - EDGE.right) / data.nights.length));
    this.height = Math.round(Math.min(440, Math.max(260, this.width * 0.3)));
    svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const last = Math.max(1, data.nights.length - 1);
    const [low, high] = this.range(isWhole);
    this.x = scale(-0.5, last + 0.5, false, EDGE.left, this.width - EDGE.right);
    this.y = scale(low, high, false, this.height - EDGE.bottom, EDGE.top);
    this.cursor = drawn("line", { class: "cursor", y1: EDGE.top, y2: this.height - EDGE.bottom });
    svg.replaceChildren(...this.axes(), ...this.nightly(), ...this.levels(), ...this.drift(),
      ...this.marks(), ...this.steps(), this.cursor);
    this.point(points.length - 1);
  }

  // Spikes and nights that were left out do not decide what is shown, unless that is asked for.
  range(isWhole) {
    const some = !isWhole && this.usual.length ? this.usual : this.points;
    const values = some.flatMap((one) => (isWhole ? [one.low ?? one.median, one.high ?? one.median]
      : [one.median]));
    const low = Math.min(...values), high = Math.max(...values), centre = (low + high) / 2;
    const half = Math.max((high - low) * 0.62, Math.abs(centre) * 0.015) || 1;
    return [centre - half, centre + half];
  }

  up(value) {
    return this.y.at(Math.min(this.y.hi, Math.max(this.y.lo, value))).toFixed(1);
  }

  across(night) {
    return this.x.at(night).toFixed(1);
  }

  *axes() {
    const axis = { title: "", lo: this.y.lo, hi: this.y.hi };
    for (const value of ticks(this.y, Math.round(this.height / 60), axis)) {
      const y = this.y.at(value).toFixed(1);
      yield drawn("line", { class: "grid", x1: EDGE.left, x2: this.width - EDGE.right, y1: y, y2: y });
      yield drawn("text", { x: EDGE.left - 8, y, dy: "0.35em", "text-anchor": "end" }, label(value, axis));
    }
    const isOneDay = data.nights.at(-1).slice(0, 10) === data.nights[0].slice(0, 10);
    const room = Math.max(1, Math.ceil(data.nights.length / Math.max(2, Math.floor(this.width / 190))));
    for (let night = 0; night < data.nights.length; night += room) {
      const x = this.across(night), y = this.height - EDGE.bottom;
      yield drawn("line", { class: "grid", x1: x, x2: x, y1: y, y2: y + 5 });
      yield drawn("text", { x, y: y + 34, "text-anchor": "middle" }, data.nights[night].slice(isOneDay ? 11 : 0));
    }
    yield drawn("text", { class: "name", x: 0, y: 14 },
      `${this.series.unit}, ${this.series.lower ? "lower" : "higher"} is better`);
  }

  // What was recorded to have changed, below the axis; what people said, across the chart.
  *nightly() {
    const floor = this.height - EDGE.bottom;
    for (const [night, some] of changesOf(this.series)) {
      const mark = drawn("line", {
        class: "tick", x1: this.across(night - 0.5), x2: this.across(night - 0.5), y1: floor, y2: floor + 14,
      });
      mark.append(drawn("title", {}, some.join("\n")));
      yield mark;
    }
    for (const [night, text] of data.notes) {
      const x = this.across(night - 0.5);
      yield drawn("line", { class: "note", x1: x, x2: x, y1: EDGE.top, y2: floor });
      yield drawn("text", { x, y: floor - 6, dx: 4 }, text.length > 28 ? `${text.slice(0, 27)}…` : text);
    }
  }

  // The level of each set of nodes between two steps.
  *levels() {
    if (this.series.told.drift) return;
    const begins = [0, ...this.series.told.steps.map((one) => one.night), data.nights.length];
    for (let part = 0; part + 1 < begins.length; part += 1) {
      const [from, to] = [begins[part], begins[part + 1]];
      const usual = this.usual.filter((one) => one.night >= from && one.night < to);
      const sets = [...new Set(usual.map((one) => one.nodes))];
      for (const set of sets) {
        const own = usual.filter((one) => one.nodes === set);
        if (own.length < 3 && sets.length > 1) continue;
        const y = this.up(middle(own.map((one) => one.median)));
        const d = `M${this.across(from - 0.5)} ${y}H${this.across(to - 0.5)}`;
        yield drawn("path", { class: `level set${this.sets.indexOf(set) % SETS}`, d });
      }
    }
  }

  // A drift goes through the middle of the nights that were used.
  *drift() {
    const { drift } = this.series.told;
    if (!drift || !this.usual.length) return;
    const level = middle(this.usual.map((one) => one.median));
    const centre = middle(this.usual.map((one) => data.days[one.night]));
    const d = this.usual.map((one, i) => {
      const value = level * drift.a_year ** ((data.days[one.night] - centre) / 365.25);
      return `${i ? "L" : "M"}${this.across(one.night)} ${this.up(value)}`;
    });
    yield drawn("path", { class: "drift", d: d.join("") });
  }

  *marks() {
    const whiskers = {}, shapes = {};
    this.points.forEach((one) => {
      const set = this.sets.indexOf(one.nodes) % SETS, x = Number(this.across(one.night)), y = Number(this.up(one.median));
      const isOff = one.median > this.y.hi || one.median < this.y.lo;
      if (one.low !== null) whiskers[set] = `${whiskers[set] ?? ""}M${x} ${this.up(one.low)}V${this.up(one.high)}`;
      const shape = isOff ? SHAPES[one.median > this.y.hi ? 2 : 4] : SHAPES[set];
      const state = one.left ? "point left-out" : "point";
      const name = `${state} set${set}`;
      shapes[name] = (shapes[name] ?? "") + shape(x, y, isOff ? this.radius + 2 : this.radius);
      if (this.spikes.has(one.night)) shapes.spike = (shapes.spike ?? "") + SHAPES[0](x, y, this.radius + 4);
    });
    for (const [set, d] of Object.entries(whiskers)) yield drawn("path", { class: `whisker set${set}`, d });
    for (const [name, d] of Object.entries(shapes)) yield drawn("path", { class: name, d });
  }

  *steps() {
    let right = 0, row = 0;
    for (const one of this.series.told.steps) {
      const x = this.across(one.night - 0.5);
      yield drawn("line", { class: "begin", x1: x, x2: x, y1: EDGE.top, y2: this.height - EDGE.bottom });
      const text = `× ${one.ratio.toFixed(3)}`, isLast = x > this.width - 90;
      row = x < right ? 1 - row : 0;
      right = Number(x) + 70;
      const anchor = isLast ? "end" : "start";
      yield drawn("text", { class: "name", x, y: 28 - 14 * row, dx: isLast ? -4 : 4, "text-anchor": anchor }, text);
    }
  }

  // Marks the point with this index.
  point(index) {
    const x = this.across(this.points[index].night);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }

  // The index of the point that is nearest to a place on the screen.
  nearest(event) {
    const box = this.svg.getBoundingClientRect(), zoom = this.width / box.width;
    const x = (event.clientX - box.left) * zoom, y = (event.clientY - box.top) * zoom;
    let best = 0, least = Infinity;
    this.points.forEach((one, i) => {
      const away = 25 * Math.abs(this.x.at(one.night) - x) + Math.abs(this.up(one.median) - y);
      if (away < least) [best, least] = [i, away];
    });
    return best;
  }
}
