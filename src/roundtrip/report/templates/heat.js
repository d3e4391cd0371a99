// A map of values between nodes or processors: what `heat.as_json` tells.  Each cell tells its
// value under the pointer, and the arrow keys walk from one to the next.

class HeatMap {
  constructor(panel) {
    this.data = JSON.parse(panel.querySelector("script").textContent);
    this.at = new Map(this.data.cells.map((cell) => [`${cell[0]} ${cell[1]}`, cell]));
    this.panel = panel;
    this.build();
    panel.classList.add("live");
    this.draw();
  }

  build() {
    const { data, panel } = this;
    this.svg = element("svg", {
      tabindex: "0", role: "application", "aria-roledescription": "interactive map",
      "aria-label": `${panel.getAttribute("aria-label")}. Arrow keys step through the cells.`,
    });
    this.readout = element("output", { "aria-live": "polite" });
    const heading = element("p", { class: "plot-title" }, element("strong", {}, data.title));
    if (data.subtitle) heading.append(element("span", { title: data.subtitle }, data.subtitle));
    const stage = element("div", { class: "stage heat" }, this.svg);
    panel.append(element("div", { class: "plot" }, heading, stage, this.readout));
    panel.removeAttribute("role");
    this.svg.addEventListener("pointermove", (event) => {
      const cell = event.target.dataset?.at;
      if (cell) this.hold(...cell.split(" ").map(Number));
    });
    this.svg.addEventListener("pointerleave", () => this.hold(null));
    this.svg.addEventListener("blur", () => this.hold(null));
    this.svg.addEventListener("keydown", (event) => {
      const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
      if (event.altKey || event.ctrlKey || event.metaKey || (down === undefined && event.key !== "Escape")) return;
      event.preventDefault();
      if (event.key === "Escape") this.hold(null);
      else this.step(down, right);
    });
  }

  // Names above and beside, a square for each cell; sizes in units that scale with the panel.
  draw() {
    const { names, sick, cells, darkest, colours } = this.data, side = 20, count = names.length;
    const left = 8 + 6.4 * Math.max(...names.map((name) => name.length)), bottom = left;
    this.box = { left, side };
    this.svg.setAttribute("viewBox", `0 0 ${left + side * count + 4} ${side * count + bottom}`);
    const made = names.flatMap((name, at) => {
      const middle = side * (at + 0.5), named = sick[at] ? { class: "sick" } : {};
      const x = left + middle + 3, y = side * count + 6;
      return [
        element("text", { ...named, x: left - 5, y: middle + 4, "text-anchor": "end", "font-size": 11 }, name),
        element("text", { ...named, x, y, transform: `rotate(-90 ${x} ${y})`, "text-anchor": "end", "font-size": 11 }, name),
      ];
    });
    for (const [row, column, value, effect, n] of cells) {
      const part = Math.max(-1, Math.min(1, effect / darkest));
      const cell = element("rect", { "data-at": `${row} ${column}`, x: left + side * column, y: side * row, width: side, height: side });
      cell.style.setProperty("--light", mixed(colours[0], part));
      cell.style.setProperty("--dark", mixed(colours[1], part));
      cell.append(drawnTitle(this.words([row, column, value, effect, n])));
      made.push(cell);
    }
    this.mark = element("rect", { class: "held", width: side, height: side, visibility: "hidden" });
    this.svg.replaceChildren(...made, this.mark);
  }

  // "node-1 and node-2: 52.1 µs, 3 % worse than usual, n = 4"
  words([row, column, value, effect, n]) {
    const { names } = this.data, way = effect < 0 ? "better" : "worse";
    const pair = row === column ? names[row] : `${names[row]} and ${names[column]}`;
    return `${pair}: ${value}, ${number(Math.abs(effect), 2)}${NBSP}% ${way} than usual, n${NBSP}=${NBSP}${n}`;
  }

  hold(row, column) {
    const cell = row === null ? null : this.at.get(`${row} ${column}`);
    this.held = cell ?? null;
    this.mark.setAttribute("visibility", cell ? "visible" : "hidden");
    this.readout.textContent = cell ? this.words(cell) : "";
    if (!cell) return;
    this.mark.setAttribute("x", this.box.left + this.box.side * column);
    this.mark.setAttribute("y", this.box.side * row);
  }

  // The next cell that way; places that were not measured are passed over.
  step(down, right) {
    if (!this.held) { const [row, column] = this.data.cells[0]; this.hold(row, column); return; }
    const count = this.data.names.length;
    let [row, column] = this.held;
    for (row += down, column += right; row >= 0 && column >= 0 && row < count && column < count; row += down, column += right) {
      if (this.at.has(`${row} ${column}`)) { this.hold(row, column); return; }
    }
  }
}

function drawnTitle(words) {
  const title = document.createElementNS(SVG, "title");
  title.textContent = words;
  return title;
}

// Of three colours, the middle one for 0 and the others for -1 and 1, mixed.
function mixed([less, none, more], part) {
  const parts = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const from = parts(none), to = parts(part < 0 ? less : more), share = Math.abs(part);
  return `rgb(${from.map((one, at) => Math.round(one + (to[at] - one) * share)).join(" ")})`;
}
