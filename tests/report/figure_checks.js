// Runs in a copy of a report's page: what a reader does to the first figure, and what they see.

addEventListener("load", async () => {
  const told = {}, faults = [];
  addEventListener("error", (event) => faults.push(event.message));
  const soon = () => new Promise((go) => { setTimeout(go, 60); });
  const panel = document.querySelector(".part [data-plot]"), name = panel.dataset.plot;
  const data = JSON.parse(panel.querySelector("script").textContent);
  const part = panel.closest("details.part");
  told.folded = !part.open;
  const toc = document.querySelector(`nav a[href="#${part.querySelector(".body").id}"]`);
  toc.click();
  await soon();
  told.opened = part.open;
  location.hash = `#${name}?`;
  await soon();
  const svg = panel.querySelector(".stage > .figure"), all = (what, from = panel) => [...from.querySelectorAll(what)];
  const press = (key, more = {}) => svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  const output = () => panel.querySelector("output").textContent;
  const tool = (words) => all(".tools button").find((one) => one.textContent === words);
  const lines = (from = panel) => all(".stage:not([hidden]) .marks .line", from).filter((one) => !one.closest("[data-curve]").style.display).map((one) => one.getAttribute("d"));
  const texts = () => all(".stage:not([hidden]) > .figure text").map((one) => one.textContent);
  told.live = panel.classList.contains("live");
  told.width = svg.clientWidth;
  told.curves = lines().length === data.views[0].curves.length;
  told.focusable = svg.tabIndex === 0 && document.activeElement === svg;

  press("ArrowRight");
  told.first = output();
  press("ArrowRight");
  told.second = output();
  press("End");
  told.end = output();
  press("ArrowDown");
  told.down = output();
  told.aria = panel.querySelector("output").getAttribute("aria-live");
  press("Escape");
  told.gone = output();

  const box = svg.getBoundingClientRect(), corner = { x: box.left + 180, y: box.top + 150 };
  for (let dy = -120; dy < 130 && !output(); dy += 20) {
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: corner.x, clientY: corner.y + dy, bubbles: true }));
  }
  told.hover = output();
  told.tip = panel.querySelector(".tip").hidden ? "" : panel.querySelector(".tip").textContent;
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  told.left = panel.querySelector(".tip").hidden;

  const before = lines(), beside = panel.parentElement.querySelectorAll("[data-plot]")[1];
  const besides = beside ? lines(beside).length : 0;
  all(".legend button")[0].click();
  told.off = before.length - lines().length;
  told.offBeside = beside ? lines(beside).length < data.views[0].curves.length : null;
  told.pressed = all(".legend button")[0].getAttribute("aria-pressed");
  all(".legend button")[0].click();
  told.on = lines().join() === before.join();

  const logged = texts().join();
  tool("log y").click();
  told.linear = tool("log y").getAttribute("aria-pressed") === "false" && texts().join() !== logged;
  tool("Time").click();
  told.time = texts().includes("Time of a message (µs)") && lines().length === data.views[1].curves.length;
  tool("log y").click();
  told.whole = texts().join();
  tool("Bandwidth").click();
  told.again = lines().join() === before.join();

  tool("+").click();
  told.zoomed = lines().join() !== before.join();
  press("ArrowRight");
  told.link = panel.querySelector(".tools a").getAttribute("href");
  const zoomed = texts().join(), held = output();
  press("0");
  told.reset = lines().join() === before.join();
  location.hash = told.link;
  await soon();
  told.restored = texts().join() === zoomed && output() === held;

  const at = (x, y, kind, more = {}) => svg.dispatchEvent(new PointerEvent(kind, {
    clientX: svg.getBoundingClientRect().left + x, clientY: svg.getBoundingClientRect().top + y,
    bubbles: true, pointerId: 1, ...more }));
  press("0");
  svg.setPointerCapture = () => {};
  at(120, 60, "pointerdown"); at(260, 160, "pointermove"); at(260, 160, "pointerup");
  told.dragged = lines().join() !== before.join();
  svg.dispatchEvent(new MouseEvent("dblclick"));
  told.undone = lines().join() === before.join();

  for (const said of ["view=99&off=99.a&x=b_c&y=5_1&at=9.9&logx=7", "x=-5_-1&y=0_0", "at=0.1&off=0", "%"]) {
    location.hash = `#${name}?${said}`;
    await soon();
  }
  location.hash = "#%zz";
  await soon();
  told.sound = lines().join() === before.join() || lines().length > 0;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { told.copied = text; } } });
  const copy = document.querySelector(".table figcaption button");
  copy.click();
  await soon();
  told.says = copy.textContent;

  told.faults = faults;
  document.body.dataset.told = JSON.stringify(told);
});
