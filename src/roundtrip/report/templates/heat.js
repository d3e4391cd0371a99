// A map that the painter drew: each cell tells its value under the pointer, and the arrow keys walk
// from one to the next.

class HeatMap {
  constructor(panel) {
    this.data = JSON.parse(panel.querySelector("script").textContent);
    this.at = new Map(this.data.cells.map((cell) => [`${cell[0]} ${cell[1]}`, cell]));
    this.svg = panel.querySelector("svg");
    this.readout = element("output", { "aria-live": "polite" });
    this.mark = element("rect", { class: "held", visibility: "hidden", fill: "none" });
    set(this.svg, { tabindex: "0", role: "application", "aria-roledescription": "interactive map",
      "aria-label": `${panel.getAttribute("aria-label")}. Arrow keys step through the cells.` });
    for (const rect of this.svg.querySelectorAll("[data-at]")) rect.append(element("title", {}, this.words(this.at.get(rect.dataset.at))));
    this.svg.append(this.mark);
    panel.append(this.readout);
    panel.classList.add("live");
    this.listen();
  }

  listen() {
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
    const rect = this.svg.querySelector(`[data-at="${row} ${column}"]`);
    for (const name of ["x", "y", "width", "height"]) this.mark.setAttribute(name, rect.getAttribute(name));
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
