// One interactive figure: what `plot.as_json` tells, drawn to the width of its panel.

const SVG = "http://www.w3.org/2000/svg";
const EDGE = { top: 12, right: 28, bottom: 44, left: 64 };
const ROW = 15, NEAR = 60, DRAG = 6;

function element(name, attributes = {}, ...children) {
  const isSvg = ["svg", "g", "path", "line", "rect", "text", "circle", "clipPath", "defs"].includes(name);
  const made = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Points that are no circles, of half-width 1.
const SHAPES = { square: "M-1,-1H1V1H-1Z", "triangle-up": "M0,-1.2L1.2,1H-1.2Z", diamond: "M0,-1.4L1.2,0L0,1.4L-1.2,0Z" };

function dot(curve, cx, cy, r) {
  const shape = SHAPES[curve.shape], at = { transform: `translate(${cx} ${cy}) scale(${r})` };
  return shape ? element("path", { class: "dot", d: shape, ...at }) : element("circle", { class: "dot", cx, cy, r });
}

// What stands before the name of a curve: a piece of its line, or its point.
function swatch(curve) {
  if (!SHAPES[curve.shape] || curve.width) return coloured(element("i", curve.dash ? { class: "dash" } : {}), curve);
  const made = element("svg", { viewBox: "0 0 21 10", "aria-hidden": "true" }, coloured(dot(curve, 7, 5, 4), curve));
  Object.assign(made.style, { display: "inline-block", width: "21px", height: "10px" });
  return made;
}

function coloured(made, curve) {
  made.style.setProperty("--light", curve.colour[0]);
  made.style.setProperty("--dark", curve.colour[1]);
  return made;
}

class Figure {
  constructor(panel) {
    this.panel = panel;
    this.data = JSON.parse(panel.querySelector("script").textContent);
    this.show(0);
    this.build();
    panel.classList.add("live");
    this.draw();
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (this.svg.clientWidth !== this.width) this.draw();
    })).observe(this.svg);
  }

  // What the reader sees: a view, curves that are off, domains, kinds of axes, and the point held.
  show(view) {
    const one = this.data.views[view];
    this.state = { view, off: new Set(), at: null, x: null, y: null, logs: [one.x.log, one.y?.log ?? 0] };
  }

  get view() { return this.data.views[this.state.view]; }
  get rows() { return this.view.rows; }
  // The axes of values and of places: a figure of rows has its values along x.
  get value() { return this.rows ? this.view.x : this.view.y; }
  get isZoomed() { return Boolean(this.state.x || this.state.y); }

  build() {
    const { data, panel } = this;
    this.tools = element("div", { class: "tools", role: "toolbar", "aria-label": `${data.title}: view` });
    this.svg = element("svg", {
      tabindex: "0", role: "application", "aria-roledescription": "interactive figure",
      "aria-label": `${panel.getAttribute("aria-label")}. Arrow keys step through the points.`,
    });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.readout = element("output", { "aria-live": "polite" });
    this.legend = element("ul", { class: "legend" });
    const heading = element("p", { class: "plot-title" }, element("strong", {}, data.title));
    if (data.subtitle) heading.append(element("span", { title: data.subtitle }, data.subtitle));
    const stage = element("div", { class: "stage" }, this.svg, this.tip);
    const body = element("div", { class: "plot-body" }, stage, this.legend);
    panel.append(element("div", { class: "plot" }, heading, this.tools, body, this.readout));
    panel.removeAttribute("role");
    listen(this);
  }

  // Domains of both axes: zoomed, as made, or of what is shown on an axis of another kind.
  domain(name) {
    if (this.state[name]) return this.state[name];
    const axis = this.view[name], log = this.state.logs[name === "x" ? 0 : 1];
    if (Boolean(axis.log) === Boolean(log)) return [axis.lo, axis.hi];
    if (axis.else) return axis.else;
    const isPlace = name === "x" && !this.rows;
    const found = this.view.curves.flatMap((curve) => curve.points.flatMap((point) =>
      (isPlace ? [point[0]] : [point[1], point[2], point[3]])))
      .filter((value) => value !== null && (!log || value > 0));
    const least = Math.min(...found), most = Math.max(...found);
    if (!log) return [Math.min(0, least), most + (isPlace ? 0 : 0.05 * most)];
    return [least, most > least ? most : least * 10];
  }

  canLog(name) {
    const isPlace = name === "x" && !this.rows;
    return this.view.curves.every((curve) => curve.points.every((p) => p[isPlace ? 0 : 1] > 0));
  }

  // Places and values as pixels; y grows upwards, rows downwards.
  draw() {
    const { svg, rows } = this, width = svg.clientWidth || 480;
    this.width = svg.clientWidth;
    const inRow = (row) => this.view.curves.filter((curve) => curve.points.some((one) => one[0] === row)).length;
    const slots = this.slots = rows?.some((_, row) => inRow(row) > 1) ? this.view.curves.length : 1;
    const left = rows ? Math.min(170, 16 + 7 * Math.max(...rows.map((name) => name.length))) : EDGE.left;
    const height = rows ? EDGE.top + EDGE.bottom + rows.length * Math.max(ROW + 8, slots * ROW)
      : Math.round(Math.min(400, Math.max(260, 0.6 * width)));
    this.box = { left, top: EDGE.top + (rows ? 0 : 10), right: width - EDGE.right, bottom: height - EDGE.bottom };
    const { box } = this, [logX, logY] = this.state.logs;
    this.x = scale(...this.domain("x"), logX, box.left, box.right);
    this.y = rows ? scale(-0.5, rows.length - 0.5, 0, box.top, box.bottom)
      : scale(...this.domain("y"), logY, box.bottom, box.top);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    svg.replaceChildren(...this.frame(), this.marks());
    this.mark = element("g", { class: "held" });
    svg.append(this.mark);
    menus(this);
    this.hold(this.state.at, false);
  }

  // Grid, ticks and titles.
  frame() {
    const { box, view, rows } = this, made = [];
    const line = (x1, y1, x2, y2, name) => made.push(element("line", { x1, y1, x2, y2, class: name }));
    const text = (x, y, words, anchor) =>
      made.push(element("text", { x, y, "text-anchor": anchor }, words));
    for (const value of ticks(this.x, Math.max(2, (box.right - box.left) / 70), view.x)) {
      const at = this.x.at(value);
      line(at, box.top, at, box.bottom, "grid");
      text(at, box.bottom + 18, label(value, view.x), "middle");
    }
    text((box.left + box.right) / 2, box.bottom + 38, view.x.title, "middle");
    if (rows) {
      rows.forEach((name, at) => text(box.left - 8, this.y.at(at) + 4, name, "end"));
    } else {
      for (const value of ticks(this.y, Math.max(2, (box.bottom - box.top) / 32), view.y)) {
        line(box.left, this.y.at(value), box.right, this.y.at(value), "grid");
        text(box.left - 8, this.y.at(value) + 4, label(value, view.y), "end");
      }
      text(2, 12, view.y.title, "start");
    }
    line(box.left, box.top, box.left, box.bottom, "axis");
    line(box.left, box.bottom, box.right, box.bottom, "axis");
    return made;
  }

  // Strip, rules, and the curves that are on; all cut off at the axes.
  marks() {
    const { box, view, rows } = this, name = `clip-${this.data.name}`;
    const area = { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top };
    const clip = element("clipPath", { id: name }, element("rect", area));
    const group = element("g", { "clip-path": `url(#${name})` });
    const log = this.state.logs[rows ? 0 : 1];
    const drawn = (value) => !log || value > 0;
    const across = (value) => (rows ? [this.x.at(value), box.top, this.x.at(value), box.bottom]
      : [box.left, this.y.at(value), box.right, this.y.at(value)]);
    if (view.strip?.every(drawn)) {
      const [[x1, y1], [, , x2, y2]] = view.strip.map(across);
      group.append(element("rect", { class: "strip", x: Math.min(x1, x2), y: Math.min(y1, y2),
        width: Math.abs(x2 - x1), height: Math.abs(y2 - y1) }));
    }
    for (const value of (view.rules ?? []).filter(drawn)) {
      const [x1, y1, x2, y2] = across(value);
      group.append(element("line", { class: "rule", x1, y1, x2, y2 }));
    }
    const shown = this.shown();
    for (const curve of shown) group.append(coloured(this.spread(curve), curve));
    for (const curve of shown) group.append(coloured(this.line(curve), curve));
    return element("g", {}, element("defs", {}, clip), group);
  }

  shown() { return this.view.curves.filter((_, index) => !this.state.off.has(index)); }

  // Where a point, or another value at its place, is in pixels; null if the axes cannot show it.
  place(curve, point, value = point[1]) {
    const [logX, logY] = this.state.logs;
    if (value === null || (this.rows ? logX : logY) && value <= 0) return null;
    if (!this.rows) return logX && point[0] <= 0 ? null : [this.x.at(point[0]), this.y.at(value)];
    const count = this.slots, slot = this.view.curves.indexOf(curve);
    return [this.x.at(value), this.y.at(point[0]) + (count > 1 ? (slot - (count - 1) / 2) * (ROW - 3) : 0)];
  }

  spread(curve) {
    const ends = curve.points.map((point) => [this.place(curve, point, point[2]), this.place(curve, point, point[3])]);
    if (this.rows || this.view.bars) {
      const bars = ends.filter(([low, high]) => low && high).map(([low, high]) => `M${low}L${high}`);
      return element("path", { class: "bars", d: bars.join("") });
    }
    let path = "", run = [];
    for (const pair of [...ends, [null, null]]) {
      if (pair[0] && pair[1]) { run.push(pair); continue; }
      if (run.length) path += `M${run.map((one) => one[1]).join("L")}L${run.reverse().map((one) => one[0]).join("L")}Z`;
      run = [];
    }
    return element("path", { class: "band", d: path });
  }

  line(curve) {
    const group = element("g"), found = curve.points.map((point) => this.place(curve, point)).filter(Boolean);
    if (!this.rows && curve.width && found.length > 1) {
      group.append(element("path", { class: curve.dash ? "line dash" : "line", "stroke-width": curve.width, d: `M${found.join("L")}` }));
    }
    if (this.rows || !curve.width || found.length < 40 && !curve.dash) {
      const r = this.rows || found.length === 1 ? 4 : 2.2;
      group.append(...found.map(([cx, cy]) => dot(curve, cx, cy, r)));
    }
    return group;
  }

  // The point of a curve that is on nearest to a pixel: [curve, point] by number, or null.
  nearest(x, y) {
    let best = null, least = NEAR ** 2;
    this.view.curves.forEach((curve, c) => {
      if (this.state.off.has(c)) return;
      curve.points.forEach((point, p) => {
        const at = this.place(curve, point);
        if (!at || at[0] < this.box.left - 1 || at[0] > this.box.right + 1) return;
        const far = (at[0] - x) ** 2 + (at[1] - y) ** 2;
        if (far < least) { least = far; best = [c, p]; }
      });
    });
    return best;
  }

  // Of a point: the curve, where it is, its value, and the interval and number of values of it.
  words([c, p]) {
    const curve = this.view.curves[c], [place, median, low, high, n] = curve.points[p];
    const named = unit(this.value);
    return {
      name: curve.name,
      where: this.rows ? this.rows[place] : told(place, this.view.x),
      value: `${number(median)}${named ? NBSP + named : ""}`,
      spread: low === null ? "" : `[${number(low)},${NBSP}${number(high)}]`,
      count: n === null ? "" : `n${NBSP}=${NBSP}${n}`,
    };
  }

  // Mark a point and tell its value; every other curve at the same place is told beside it.
  hold(at, isTold = true) {
    this.state.at = at;
    this.mark.replaceChildren();
    this.tip.hidden = !at;
    link(this);
    if (!at) { if (isTold) this.readout.textContent = ""; return; }
    const curve = this.view.curves[at[0]], point = curve.points[at[1]], spot = this.place(curve, point);
    const { name, where, value, spread, count } = this.words(at);
    const named = name === where ? name : `${name}, ${where}`;
    this.readout.textContent = `${named}: ${[value, spread, count].filter(Boolean).join(" ")}`;
    if (!spot) { this.tip.hidden = true; return; }
    const [x, y] = spot, { box } = this;
    if (!this.rows) this.mark.append(element("line", { class: "rule", x1: x, x2: x, y1: box.top, y2: box.bottom }));
    this.mark.append(coloured(element("circle", { cx: x, cy: y, r: 5 }), curve));
    const lines = this.view.curves.flatMap((other, c) => {
      const p = other.points.findIndex((one) => one[0] === point[0]);
      if (p < 0 || this.state.off.has(c)) return [];
      const one = this.words([c, p]);
      const cells = [one.name, one.value, one.spread, one.count].map((text) => element("td", {}, text));
      cells[0].prepend(swatch(other));
      return [element("tr", c === at[0] ? { class: "now" } : {}, ...cells)];
    });
    this.tip.replaceChildren(element("p", {}, where), element("table", {}, ...lines));
    const corner = this.svg.getBoundingClientRect(), wide = this.tip.offsetWidth;
    const left = x + 16 + wide + corner.left < document.documentElement.clientWidth ? x + 16 : x - 16 - wide;
    this.tip.style.left = `${Math.max(left, 4 - corner.left)}px`;
    this.tip.style.top = `${Math.max(0, y - this.tip.offsetHeight - 12)}px`;
  }
}
