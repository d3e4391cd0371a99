// What a reader does with a figure: buttons, pointer, keys, and the link to what they see.

function button(words, title, isOn, act) {
  const name = title.includes(words) ? title : `${words}: ${title}`; // a screen reader also says the visible words
  const made = element("button", { type: "button", title, "aria-label": name }, words);
  if (isOn !== null) made.setAttribute("aria-pressed", String(isOn));
  made.addEventListener("click", act);
  return made;
}

// The buttons that fit the view; the one that has the focus keeps it.
function menus(figure) {
  const { data, state, tools, legend, view } = figure;
  const named = () => [...tools.children, ...legend.querySelectorAll("button")];
  const focused = named().find((one) => one === document.activeElement)?.getAttribute("aria-label");
  const act = (change) => () => { change(); redraw(figure); };
  const views = data.views.length < 2 ? [] : data.views.map((one, index) => button(
    one.name, `Show: ${one.name}`, index === state.view, act(() => figure.show(index))));
  const logs = ["x", "y"].map((name, index) => (view[name] && figure.canLog(name) ? button(
    `log ${name}`, `Logarithmic ${name} axis`, Boolean(state.logs[index]), act(() => {
      state.logs[index] = state.logs[index] ? 0 : 1;
      state[name] = null;
    })) : null)).filter(Boolean);
  const reset = button("Reset", "Show all again", null, act(() => figure.show(state.view)));
  const zooms = [
    button("+", "Zoom in", null, act(() => zoom(figure, 0.5))),
    button("\u2212", "Zoom out", null, act(() => zoom(figure, 2))),
  ];
  figure.link = element("a", { title: "Address of what you see here" }, "Link");
  tools.replaceChildren(...views, ...logs, ...zooms, reset, figure.link);
  legend.replaceChildren(...view.curves.map((_, index) => element("li", {}, key(figure, index))));
  if (focused) named().find((one) => one.getAttribute("aria-label") === focused)?.focus();
}

// Figures beside each other share what they show: curves go by name.
function redraw(figure) {
  figure.draw();
  const { state, data } = figure, named = (other) => other.view.curves.map((curve) => curve.name);
  const off = new Set([...state.off].map((index) => named(figure)[index]));
  for (const panel of figure.panel.closest(".panels")?.querySelectorAll("[data-plot]") ?? []) {
    const other = alive(panel);
    const view = other.data.views.findIndex((one) => one.name === data.views[state.view].name);
    if (other === figure || view < 0) continue;
    const at = other.state.view === view ? other.state.at : null;
    other.show(view);
    Object.assign(other.state, { at, x: state.x, y: state.y, logs: [...state.logs] });
    named(other).forEach((name, index) => { if (off.has(name)) other.state.off.add(index); });
    release(other);
    other.draw();
  }
}

// A curve on or off, or only this one on.
function toggle(figure, index, isOnly = false) {
  const { state, view } = figure;
  if (isOnly) state.off = new Set([...view.curves.keys()].filter((one) => one !== index));
  else if (!state.off.delete(index)) state.off.add(index);
  release(figure);
  redraw(figure);
}

// No point is held of a curve that is off.
function release(figure) {
  const { at, off } = figure.state;
  if (!at || !off.has(at[0])) return;
  figure.pinned = false;
  figure.hold(null);
}

function key(figure, index) {
  const curve = figure.view.curves[index], { off } = figure.state;
  const made = button("", `Curve: ${curve.name}`, !off.has(index),
    (event) => toggle(figure, index, event.shiftKey || event.detail === 2));
  made.append(figure.swatch(index), curve.name);
  made.title = "Click: on or off. Shift and click: only this one.";
  return made;
}

// `factor` of what is shown of each axis, around a pixel or the middle.
function zoom(figure, factor, around = null) {
  const { box } = figure;
  const [x, y] = around ?? [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const part = (one, at, from, to) => [one.of(at + (from - at) * factor), one.of(at + (to - at) * factor)];
  figure.state.x = part(figure.x, x, box.left, box.right);
  if (!figure.rows) figure.state.y = part(figure.y, y, box.bottom, box.top);
}

function pan(figure, dx, dy) {
  const { box } = figure;
  figure.state.x = [figure.x.of(box.left - dx), figure.x.of(box.right - dx)];
  if (!figure.rows) figure.state.y = [figure.y.of(box.bottom - dy), figure.y.of(box.top - dy)];
}

function listen(figure, svg) {
  let start = null, frame = null;
  const at = (event) => {
    const corner = svg.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };
  const stop = () => { start = null; frame?.remove(); frame = null; };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType !== "touch") start = { at: at(event), moved: false };
  });
  svg.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (!start) { if (!figure.pinned) figure.hold(figure.nearest(x, y)); return; }
    const [dx, dy] = [x - start.at[0], y - start.at[1]];
    if (!start.moved && Math.hypot(dx, dy) < DRAG) return;
    if (!start.moved) svg.setPointerCapture(event.pointerId);
    start.moved = true;
    if (event.shiftKey) { pan(figure, dx, dy); start.at = [x, y]; figure.draw(); return; }
    frame ??= svg.appendChild(element("rect", { class: "chosen" }));
    set(frame, { x: Math.min(x, start.at[0]), width: Math.abs(dx),
      y: figure.rows ? figure.box.top : Math.min(y, start.at[1]),
      height: figure.rows ? figure.box.bottom - figure.box.top : Math.abs(dy) });
  });
  svg.addEventListener("pointerup", (event) => {
    const [x, y] = at(event), begun = start?.at, chosen = frame, wasMoved = start?.moved;
    stop();
    if (chosen && Math.abs(x - begun[0]) > DRAG) {
      figure.state.x = [Math.min(x, begun[0]), Math.max(x, begun[0])].map(figure.x.of);
      if (!figure.rows && Math.abs(y - begun[1]) > DRAG) {
        figure.state.y = [Math.max(y, begun[1]), Math.min(y, begun[1])].map(figure.y.of);
      }
      redraw(figure);
    } else if (!wasMoved) {
      const found = figure.nearest(x, y);
      figure.pinned = Boolean(found);
      figure.hold(found);
      if (found) address(figure);
    }
  });
  svg.addEventListener("pointercancel", stop);
  svg.addEventListener("pointerleave", () => { if (!start && !figure.pinned) figure.hold(null); });
  svg.addEventListener("dblclick", () => { figure.pinned = false; figure.show(figure.state.view); redraw(figure); });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    zoom(figure, event.deltaY < 0 ? 0.8 : 1.25, at(event));
    figure.draw();
  }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !press(figure, event)) return;
    event.preventDefault();
  });
  svg.addEventListener("blur", () => { if (!figure.pinned) figure.hold(null); });
}

// What a key does; false if nothing.
function press(figure, event) {
  const { state, view } = figure;
  const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key], along = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.shiftKey && (across || along)) {
    pan(figure, -40 * (across ?? 0), -40 * (along ?? 0));
    figure.draw();
  } else if (across || along || event.key === "Home" || event.key === "End") {
    step(figure, across, along, event.key);
  } else if (event.key === "Enter" && state.at) {
    figure.pinned = true;
    address(figure);
  } else if (event.key === "Escape" && state.at) {
    figure.pinned = false;
    figure.hold(null);
  } else if (event.key === "+" || event.key === "-") {
    zoom(figure, event.key === "+" ? 0.5 : 2);
    figure.draw();
  } else if (event.key === "0") {
    figure.pinned = false;
    figure.show(state.view);
    figure.draw();
  } else if (/^[1-9]$/.test(event.key) && event.key <= view.curves.length) {
    toggle(figure, Number(event.key) - 1);
  } else return false;
  return true;
}

// Along a curve, or to the next curve, at the place nearest to this one.
function step(figure, across, along, name) {
  const { view, state } = figure;
  const on = [...view.curves.keys()].filter((index) => !state.off.has(index) && view.curves[index].points.length);
  if (!on.length) return;
  if (!state.at || !on.includes(state.at[0])) { figure.hold(figure.order?.at(-1).slice(0, 2) ?? [on[0], 0]); return; }
  const [c, p] = state.at, { points } = view.curves[c];
  if (figure.order && !along) {
    const all = figure.order, at = all.findIndex((one) => one[0] === c && one[1] === p) + (across ?? 0);
    figure.hold((name === "Home" ? all[0] : name === "End" ? all.at(-1) : all[Math.min(all.length - 1, Math.max(0, at))]).slice(0, 2));
    return;
  }
  if (along) {
    const next = on[(on.indexOf(c) + along + on.length) % on.length];
    const far = (point) => Math.abs(figure.rows ? point[0] - points[p][0] : figure.x.at(point[0]) - figure.x.at(points[p][0]));
    const there = view.curves[next].points;
    figure.hold([next, there.reduce((best, point, index) => (far(point) < far(there[best]) ? index : best), 0)]);
    return;
  }
  const wanted = name === "Home" ? 0 : name === "End" ? points.length - 1 : p + across;
  figure.hold([c, Math.min(points.length - 1, Math.max(0, wanted))]);
}

// The fragment of the page's address that shows what is shown.
function fragment(figure) {
  const { state, view, data } = figure, said = new URLSearchParams();
  if (state.view) said.set("view", state.view);
  if (state.off.size) said.set("off", [...state.off].sort((a, b) => a - b).join("."));
  ["x", "y"].forEach((name, index) => {
    if (Boolean(view[name]?.log) !== Boolean(state.logs[index])) said.set(`log${name}`, state.logs[index]);
    if (state[name]) said.set(name, state[name].map((value) => Number(value.toPrecision(4))).join("_"));
  });
  if (state.at) said.set("at", state.at.join("."));
  return `#${data.name}?${said}`;
}

function address(figure) {
  try { history.replaceState(null, "", fragment(figure)); } catch { /* a page that may not */ }
}

// Show what a fragment says; whatever it says, the figure stays a figure.
function restore(figure, said) {
  const whole = (text) => (/^\d+$/.test(text ?? "") ? Number(text) : null);
  const view = whole(said.get("view")) ?? 0;
  figure.show(view < figure.data.views.length ? view : 0);
  const { state } = figure, { curves } = figure.view;
  for (const text of (said.get("off") ?? "").split(".")) {
    const index = whole(text);
    if (index !== null && index < curves.length) state.off.add(index);
  }
  ["x", "y"].forEach((name, index) => {
    const log = whole(said.get(`log${name}`));
    if (log !== null && figure.view[name] && (log === 0 || figure.canLog(name))) state.logs[index] = log ? 1 : 0;
    const range = (said.get(name) ?? "").split("_").map(Number);
    const fits = range.length === 2 && range.every(Number.isFinite) && range[0] < range[1];
    if (fits && figure.view[name] && (!state.logs[index] || range[0] > 0)) state[name] = range;
  });
  const [c, p] = (said.get("at") ?? "").split(".").map(whole);
  const at = curves[c]?.points[p] && !state.off.has(c) ? [c, p] : null;
  figure.pinned = Boolean(at);
  state.at = at;
  figure.draw();
}

// Keys scroll what is wider than the page.
const sized = new ResizeObserver((seen) => {
  for (const { target } of seen) target.toggleAttribute("tabindex", false);
  for (const { target } of seen) if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
});
for (const one of document.querySelectorAll(".scroll")) sized.observe(one);

// Rows, the heads first, as a table that is made when a reader opens it: it may be long. Columns
// from the second one on are numbers, as far as the one of number `words`.
function tabulate(panel, title, rows, words = Infinity) {
  const all = element("details", {}, element("summary", {}, title));
  all.addEventListener("toggle", () => {
    all.querySelector(".scroll")?.remove();
    if (!all.open) return;
    const [heads, ...some] = rows(), side = (at) => (at && at < words ? "right" : "left");
    const cell = (text, at) => (at ? element("td", { class: side(at), "data-label": heads[at] }, element("span", {}, text))
      : element("th", { scope: "row" }, text));
    const head = heads.map((text, at) => element("th", { scope: "col", class: side(at) }, text));
    const body = some.map((row) => element("tr", {}, ...row.map(cell)));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
    all.append(element("div", { class: "scroll" }, table));
    sized.observe(all.lastChild);
  });
  panel.append(all);
}
