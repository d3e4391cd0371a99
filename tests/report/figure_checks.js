// Runs in a report's page: what a reader does to the first figure, and what they see.

(async () => {
  const results = {}, faults = [];
  addEventListener("error", (event) => faults.push(event.message));
  const soon = () => new Promise((go) => { setTimeout(go, 60); });
  const panel = document.querySelector(".part [data-plot]"), name = panel.dataset.plot;
  const data = JSON.parse(panel.querySelector("script").textContent);
  const part = panel.closest("details.part");
  results.folded = !part.open;
  const toc = document.querySelector(`nav a[href="#${part.querySelector(".body").id}"]`);
  toc.click();
  await soon();
  results.opened = part.open;
  location.hash = `#${name}?`;
  await soon();
  const svg = panel.querySelector(".stage > .figure"), all = (what, from = panel) => [...from.querySelectorAll(what)];
  const press = (key, more = {}) => svg.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  const output = () => panel.querySelector("output").textContent;
  const tool = (words) => all(".tools button").find((one) => one.textContent === words);
  const lines = (from = panel) => all(".stage:not([hidden]) .marks .line", from).filter((one) => !one.closest("[data-curve]").style.display).map((one) => one.getAttribute("d"));
  const texts = () => all(".stage:not([hidden]) > .figure text").map((one) => one.textContent);
  results.live = panel.classList.contains("live");
  results.width = svg.clientWidth;
  results.curves = lines().length === data.views[0].curves.length;
  results.focusable = svg.tabIndex === 0 && document.activeElement === svg;

  press("ArrowRight");
  results.first = output();
  press("ArrowRight");
  results.second = output();
  press("End");
  results.end = output();
  press("ArrowDown");
  results.down = output();
  results.aria = panel.querySelector("output").getAttribute("aria-live");
  press("Escape");
  results.gone = output();

  const box = svg.getBoundingClientRect(), corner = { x: box.left + 180, y: box.top + 150 };
  for (let dy = -120; dy < 130 && !output(); dy += 20) {
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: corner.x, clientY: corner.y + dy, bubbles: true }));
  }
  results.hover = output();
  results.tip = panel.querySelector(".tip").hidden ? "" : panel.querySelector(".tip").textContent;
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  results.left = panel.querySelector(".tip").hidden;

  const before = lines(), beside = panel.parentElement.querySelectorAll("[data-plot]")[1];
  const besides = beside ? lines(beside).length : 0;
  all(".legend button")[0].click();
  results.off = before.length - lines().length;
  results.offBeside = beside ? lines(beside).length < data.views[0].curves.length : null;
  results.pressed = all(".legend button")[0].getAttribute("aria-pressed");
  all(".legend button")[0].click();
  results.on = lines().join() === before.join();

  // A curve that a digit turns off: nothing of it is held, here and beside.
  const besideSvg = beside?.querySelector(".stage > .figure");
  besideSvg?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  results.heldBeside = beside ? beside.querySelector("output").textContent !== "" : true;
  press("ArrowRight");
  press("Enter");
  results.held = output() !== "" && panel.querySelector(".tools a").hash.includes("at=0.0");
  press("1");
  results.offByDigit = lines().length === before.length - 1;
  results.letGo = output() === "" && !panel.querySelector(".held").childElementCount
    && !panel.querySelector(".tools a").hash.includes("at=");
  results.letGoBeside = beside ? lines(beside).length === besides - 1 && beside.querySelector("output").textContent === "" : true;
  press("1");
  results.onByDigit = lines().join() === before.join() && (!beside || lines(beside).length === besides);

  const logged = texts().join();
  tool("log y").click();
  results.linear = tool("log y").getAttribute("aria-pressed") === "false" && texts().join() !== logged;
  tool("Time").click();
  results.time = texts().includes("Time of a message (µs)") && lines().length === data.views[1].curves.length;
  tool("log y").click();
  results.whole = texts().join();
  tool("Bandwidth").click();
  results.again = lines().join() === before.join();

  tool("+").click();
  results.zoomed = lines().join() !== before.join();
  press("ArrowRight");
  results.link = panel.querySelector(".tools a").getAttribute("href");
  const zoomed = texts().join(), held = output();
  press("0");
  results.reset = lines().join() === before.join();
  location.hash = results.link;
  await soon();
  results.restored = texts().join() === zoomed && output() === held;

  const at = (x, y, kind, more = {}) => svg.dispatchEvent(new PointerEvent(kind, {
    clientX: svg.getBoundingClientRect().left + x, clientY: svg.getBoundingClientRect().top + y,
    bubbles: true, pointerId: 1, ...more }));
  press("0");
  svg.setPointerCapture = () => {};
  at(120, 60, "pointerdown"); at(260, 160, "pointermove"); at(260, 160, "pointerup");
  results.dragged = lines().join() !== before.join();
  svg.dispatchEvent(new MouseEvent("dblclick"));
  results.undone = lines().join() === before.join();

  for (const said of ["view=99&off=99.a&x=b_c&y=5_1&at=9.9&logx=7", "x=-5_-1&y=0_0", "at=0.1&off=0", "%"]) {
    location.hash = `#${name}?${said}`;
    await soon();
  }
  location.hash = "#%zz";
  await soon();
  results.sound = lines().join() === before.join() || lines().length > 0;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { results.copied = text; } } });
  const copy = document.querySelector(".table figcaption button");
  copy.click();
  await soon();
  results.says = copy.textContent;

  results.faults = faults;
  return results;
})()
