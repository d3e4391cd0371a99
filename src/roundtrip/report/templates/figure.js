// A figure that the painter drew, brought to life: the script moves what is drawn when a reader
// zooms, hides curves, and reads out values; it draws no value itself.

const SVG = "http://www.w3.org/2000/svg";
const ROW = 13, NEAR = 60, DRAG = 6, EDGE = 22, GAP = 16, SIGN = 10, FEW = 230;
const SHAPES_OF_SVG = ["svg", "g", "path", "line", "rect", "text", "title", "circle"];

function element(name, attributes = {}, ...children) {
  const made = SHAPES_OF_SVG.includes(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  made.append(...children);
  return set(made, attributes);
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// A function for each shape that moves it: `to` gives the new place of one where it was painted.
function movable(svg) {
  const short = (value) => Math.min(1e5, Math.max(-1e5, value)).toFixed(1);
  return [...svg.querySelectorAll(".marks path, .marks circle, .marks text")].map((node) => {
    const isEvent = node.closest(".events"), names = { circle: ["cx", "cy"], text: ["x", "y"] }[node.tagName];
    const moved = (to, x, y) => [to(x, y)[0], isEvent ? y : to(x, y)[1]].map(short); // events go sideways
    if (names) {
      const [x, y] = names.map((name) => Number(node.getAttribute(name)));
      return (to) => moved(to, x, y).forEach((value, at) => node.setAttribute(names[at], value));
    }
    const name = node.hasAttribute("transform") ? "transform" : "d", painted = node.getAttribute(name);
    return (to) => node.setAttribute(name, painted.replace(/(-?[\d.]+),(-?[\d.]+)/g,
      (_, x, y) => moved(to, Number(x), Number(y)).join(",")));
  });
}

// Positions near those wanted, at least GAP apart, between `low` and `high` where they fit.
function apart(wanted, low, high) {
  const sorted = wanted.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
  sorted.forEach((one, i) => { one.at = Math.max(one.at, i ? sorted[i - 1].at + GAP : low); });
  sorted.reverse().forEach((one, i) => { one.at = Math.min(one.at, i ? sorted[i - 1].at - GAP : high); });
  return sorted.sort((a, b) => a.index - b.index).map((one) => one.at);
}

class Figure {
  constructor(panel, data = JSON.parse(panel.querySelector("script").textContent)) {
    Object.assign(this, { panel, data });
    this.stages = [...panel.querySelectorAll(".stage")].map((stage) => {
      const svg = stage.querySelector("svg"), [left, top, right, bottom] = svg.dataset.frame.split(" ").map(Number);
      const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
      return { stage, svg, left, top, right, bottom, width, room: width - right, below: height - bottom, moves: movable(svg) };
    });
    this.show(0);
    this.build();
    panel.classList.add("live");
    this.draw();
    new ResizeObserver(() => requestAnimationFrame(() => {
      if (this.svg.clientWidth !== this.width) this.draw();
    })).observe(panel);
    // On paper it has the width that it was painted for, whatever the width of the window.
    addEventListener("beforeprint", () => this.draw(this.painted.width));
    addEventListener("afterprint", () => this.draw());
  }

  // What the reader sees: a view, curves that are off, domains, kinds of axes, and the point held.
  show(view) {
    const one = this.data.views[view];
    this.state = { view, off: new Set(), at: null, x: null, y: null, logs: [one.x.log, one.y?.log ?? 0] };
  }

  get view() { return this.data.views[this.state.view]; }
  get painted() { return this.stages[this.state.view]; }
  get svg() { return this.painted.svg; }
  get rows() { return this.view.rows; }
  // The axis of values: a figure of rows has them along x.
  get value() { return this.rows ? this.view.x : this.view.y; }

  build() {
    const { data, panel } = this, about = panel.getAttribute("aria-label");
    this.tools = element("div", { class: "tools", role: "toolbar", "aria-label": `${data.title}: view` });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.readout = element("output", { "aria-live": "polite" });
    this.legend = element("ul", { class: "legend" });
    this.mark = element("g", { class: "held" });
    panel.querySelector(".plot-title").after(this.tools);
    panel.append(this.readout);
    for (const { svg } of this.stages) {
      set(svg, { tabindex: "0", role: "application", "aria-roledescription": "interactive figure",
        "aria-label": `${about}. Arrow keys step through the points.` });
      svg.style.maxWidth = "none";
      listen(this, svg);
    }
  }

  // Domains of both axes: zoomed, as made, or of what is shown on an axis of another kind.
  domain(name) {
    if (this.state[name]) return this.state[name];
    const axis = this.view[name], log = this.state.logs[name === "x" ? 0 : 1];
    if (Boolean(axis.log) === Boolean(log)) return [axis.lo, axis.hi];
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
    return !this.view.stacked && !this.view[name].labels && this.view.curves.every((curve) => curve.points.every((p) => p[isPlace ? 0 : 1] > 0));
  }

  // Both scales for the width of the panel or of `paper`, and everything that was painted moved to them.
  draw(paper = 0) {
    this.stages.forEach((one) => { one.stage.hidden = one !== this.painted; });
    const { painted, svg, rows, view } = this, width = paper || svg.clientWidth || 480;
    this.width = svg.clientWidth;
    const isWide = !rows && width - painted.left - painted.room > FEW;
    const right = width - (isWide ? painted.room : EDGE), { top } = painted;
    const bottom = rows ? painted.bottom : top + Math.round(Math.min(360, Math.max(220, 0.55 * (right - painted.left))));
    const height = bottom + (rows ? 46 : painted.below), [logX, logY] = this.state.logs;
    const from = { x: scale(view.x.lo, view.x.hi, view.x.log, painted.left, painted.right) };
    this.lines = [];
    if (!rows) {
      from.y = scale(view.y.lo, view.y.hi, view.y.log, painted.bottom, top);
      this.y = scale(...this.domain("y"), logY, bottom, top);
      this.lines = ticks(this.y, Math.max(2, (bottom - top) / 36), view.y).map((value) => [this.y.at(value), label(value, view.y)]);
    }
    const left = Math.max(painted.left, ...this.lines.map(([, words]) => 12 + 7.5 * words.length));
    this.box = { left, top, right, bottom };
    this.x = scale(...this.domain("x"), logX, left, right);
    const moved = (one, to, pixel) => to.at(to.log ? Math.max(one.of(pixel), 1e-12 * to.lo) : one.of(pixel));
    const place = (x, y) => [moved(from.x, this.x, x), rows ? y : moved(from.y, this.y, y)];
    for (const move of painted.moves) move(place);
    this.label([...svg.querySelectorAll(".events text")]);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    set(svg.querySelector("clipPath rect"), { x: left, y: top, width: right - left, height: bottom - top });
    svg.querySelector(".frame").replaceChildren(...this.frame());
    for (const one of svg.querySelectorAll("[data-curve]")) one.style.display = this.state.off.has(Number(one.dataset.curve)) ? "none" : "";
    painted.stage.append(this.tip, this.legend);
    svg.append(this.mark);
    menus(this);
    this.names(isWide);
    this.hold(this.state.at, false);
  }

  // Words of events, as the painter places them: left of their lines where no room is on the right,
  // and on a second line where they would lie over the words before.
  label(nodes) {
    const placed = nodes.map((node) => {
      const painted = (node.dataset.anchor ??= node.getAttribute("text-anchor") ?? "start");
      const x = Number(node.getAttribute("x")) + (painted === "end" ? 8 : 0), wide = node.getComputedTextLength();
      return { node, x, wide, isLeft: x + wide > this.box.right };
    });
    let end = 0, line = 0;
    for (const { node, x, wide, isLeft } of placed.sort((a, b) => a.x - b.x)) {
      const begin = isLeft ? x - 8 - wide : x;
      line = begin < end ? 1 - line : 0;
      end = begin + wide + 8;
      set(node, { "text-anchor": isLeft ? "end" : "start", x: isLeft ? x - 8 : x, y: this.box.top + 12 + GAP * line });
    }
  }

  // Grid, ticks and titles.
  frame() {
    const { box, view } = this, made = [];
    const line = (x1, y1, x2, y2, name) => made.push(element("path", { d: `M${x1},${y1}L${x2},${y2}`, class: name }));
    const text = (x, y, words, anchor, name = "") => made.push(element("text", { x, y, "text-anchor": anchor, class: name }, words));
    let free = 0; // no label begins left of it
    for (const value of ticks(this.x, Math.max(2, (box.right - box.left) / 76), view.x)) {
      const at = this.x.at(value), words = label(value, view.x), half = 3.6 * words.length, middle = Math.max(at, half);
      line(at, box.top, at, box.bottom, "grid");
      if (middle - half < free) continue;
      text(middle, box.bottom + 19, words, "middle");
      free = middle + half + 4;
    }
    text((box.left + box.right) / 2, box.bottom + 39, view.x.title, "middle", "ink");
    if (view.y) {
      for (const [y, words] of this.lines) {
        line(box.left, y, box.right, y, "grid");
        text(box.left - 8, y + 4.5, words, "end");
      }
      text(0, 13, view.y.title, "start", "ink");
    }
    line(box.left, box.top, box.left, box.bottom, "axis");
    line(box.left, box.bottom, box.right, box.bottom, "axis");
    return made;
  }

  // The names at the ends of the curves, as buttons; without room for them, these stand below.
  names(isWide) {
    const { svg, box, view, panel, legend } = this;
    panel.classList.toggle("wide", isWide);
    svg.querySelector(".names").style.display = isWide ? "" : "none";
    if (this.rows) return;
    const ends = view.curves.map((curve, index) => {
      const spots = this.state.off.has(index) ? [] : curve.points.map((point) => this.place(curve, point));
      const [x, y] = spots.findLast((at) => at && at[0] <= box.right + 1 && at[0] >= box.left) ?? [null, box.bottom];
      return { x, y: Math.min(box.bottom, Math.max(box.top, y)), arrow: y < box.top - 0.5 ? " ↑" : y > box.bottom + 0.5 ? " ↓" : "" };
    });
    ends.forEach((one, index) => legend.children[index].querySelector("button").append(one.arrow));
    if (!isWide) return;
    const placed = apart(ends.map((one) => one.y), box.top + 2, box.bottom - 2), begin = box.right + SIGN;
    ends.forEach((one, index) => {
      const at = placed[index], item = legend.children[index], node = svg.querySelector(`.names [data-curve="${index}"]`);
      Object.assign(item.style, { left: `${begin}px`, top: `${at}px` });
      if (!node) return;
      node.style.display = one.x === null ? "none" : "";
      node.setAttribute("transform", `translate(${begin},${at})`);
      node.querySelector("text").textContent = view.curves[index].name + one.arrow;
      if (one.x !== null) node.querySelector(".tie").setAttribute("d", `M${one.x + 3 - begin},${one.y - at}L-2,0`);
    });
  }

  // Where a point, or another value at its place, is in pixels; null if the axes cannot show it.
  place(curve, point, value = point[1]) {
    const [logX, logY] = this.state.logs, { curves, stacked } = this.view;
    if (value === null || (this.rows ? logX : logY) && value <= 0) return null;
    if (!this.rows) return logX && point[0] <= 0 ? null : [this.x.at(point[0]), this.y.at(value)];
    const row = Number(this.svg.querySelectorAll(".rows text")[point[0]].getAttribute("y")) - 4.5, slot = curves.indexOf(curve);
    if (stacked) {
      const before = curves.slice(0, slot).flatMap((one) => one.points.filter((p) => p[0] === point[0])).reduce((sum, p) => sum + p[1], 0);
      return [this.x.at(before + value / 2), row];
    }
    return [this.x.at(value), row + (this.slots() > 1 ? (slot - (this.slots() - 1) / 2) * ROW : 0)];
  }

  // How many curves share a row.
  slots() {
    const rows = this.view.curves.flatMap((curve) => curve.points.map((point) => point[0]));
    return new Set(rows).size < rows.length ? this.view.curves.length : 1;
  }

  // The sign of a curve, as it was painted.
  swatch(index) {
    const sign = this.svg.querySelector(`.names [data-curve="${index}"] .curve`)?.cloneNode(true)
      ?? this.coloured(element("circle", { cx: 8, cy: 0, r: 4, stroke: "none" }), index);
    sign.removeAttribute("data-curve");
    sign.style.display = "";
    return element("svg", { class: "figure swatch", viewBox: "-1 -7 18 14", "aria-hidden": "true" }, sign);
  }

  coloured(made, index) {
    return element("g", { class: "curve", style: this.svg.querySelector(`[data-curve="${index}"].curve`)?.getAttribute("style") ?? "" }, made);
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
      where: this.rows ? this.rows[place] : axisText(place, this.view.x),
      value: `${number(median)}${named ? NBSP + named : ""}`,
      spread: low === null ? "" : `[${number(low)},${NBSP}${number(high)}]`,
      count: n === null ? "" : `n${NBSP}=${NBSP}${n}`,
    };
  }

  // Mark a point and show its value, and those of the other curves at the same place.
  hold(at, isTold = true) {
    this.state.at = at;
    this.mark.replaceChildren();
    this.tip.hidden = !at;
    this.link.href = fragment(this);
    if (!at) { if (isTold) this.readout.textContent = ""; return; }
    const curve = this.view.curves[at[0]], point = curve.points[at[1]], spot = this.place(curve, point);
    const { name, where, value, spread, count } = this.words(at);
    const named = name === where ? name : `${name}, ${where}`;
    this.readout.textContent = `${named}: ${[value, spread, count].filter(Boolean).join(" ")}`;
    if (!spot) { this.tip.hidden = true; return; }
    const [x, y] = spot, { box } = this;
    if (!this.rows) this.mark.append(element("path", { class: "rule", d: `M${x},${box.top}L${x},${box.bottom}` }));
    this.mark.append(this.coloured(element("circle", { cx: x, cy: y, r: 5 }), at[0]));
    const lines = this.view.curves.flatMap((other, c) => {
      const p = other.points.findIndex((one) => one[0] === point[0]);
      if (p < 0 || this.state.off.has(c)) return [];
      const one = this.words([c, p]);
      const cells = [one.name, one.value, one.spread, one.count].map((text) => element("td", {}, text));
      cells[0].prepend(this.swatch(c));
      return [element("tr", c === at[0] ? { class: "now" } : {}, ...cells)];
    });
    this.tip.replaceChildren(element("p", {}, where), element("table", {}, ...lines));
    const corner = this.svg.getBoundingClientRect(), wide = this.tip.offsetWidth;
    const left = x + 16 + wide + corner.left < document.documentElement.clientWidth ? x + 16 : x - 16 - wide;
    this.tip.style.left = `${Math.max(left, 4 - corner.left)}px`;
    this.tip.style.top = `${Math.max(0, y - this.tip.offsetHeight - 12)}px`;
    if (this.covers()) this.tip.style.top = `${y + 12}px`;
  }

  // Whether the values that are read out lie over the words of an event.
  covers() {
    const tip = this.tip.getBoundingClientRect();
    return [...this.svg.querySelectorAll(".events text")].map((node) => node.getBoundingClientRect()).some((one) =>
      one.left < tip.right && one.right > tip.left && one.top < tip.bottom && one.bottom > tip.top);
  }
}
