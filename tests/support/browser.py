"""A headless Chromium, driven by the DevTools protocol over a pipe: standard library only.

As a program it draws a part of a page (``python tests/support/browser.py URL SELECTOR PNG``), or
prints the processor time in seconds that a page takes until it is drawn (``... URL``).
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
NO_CHROMIUM_REASON = "no Chromium here: apt install chromium"
_AXE = importlib.util.find_spec("axe_playwright_python")
#: Why no page can be searched for what keeps readers out; "" if it can.
NO_AXE_REASON = (
    NO_CHROMIUM_REASON if CHROMIUM is None else "" if _AXE else "no axe here: make setup-test"
)
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-pipe", "--hide-scrollbars"),
)
_TIMEOUT_S = 60


class Browser:
    """One page.  `events` has every event of the protocol since it was opened, oldest first."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._read = b""
        self._count = 0
        self.events: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        answer = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> Any:
        """The answer to a command for the page; RuntimeError if it is refused."""
        return self._ask(method, parameters, self._session)

    def open(self, url: str) -> None:
        """Load a page, and wait until it has loaded."""
        self.events.clear()
        self.ask("Page.navigate", url=url)
        self.until(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, a promise awaited; RuntimeError if it throws."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key that is no letter."""
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window, and whether the reader prefers dark pages."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file: Path, selector: str = "body") -> None:
        """A PNG of one element, whether or not it is in view."""
        box = self.run(
            f"(() => {{ const one = document.querySelector({selector!r}).getBoundingClientRect();"
            " return {x: one.x + scrollX, y: one.y + scrollY, width: one.width,"
            " height: one.height, scale: 1}; })()"
        )
        shot = self.ask(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=box
        )
        file.write_bytes(base64.b64decode(shot["data"]))

    def sheets(self, paper: tuple[float, float]) -> int:
        """The number of sheets on which the page is printed, of a width and height in inches."""
        pdf = self.ask("Page.printToPDF", paperWidth=paper[0], paperHeight=paper[1])["data"]
        return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(pdf)))

    def barriers(self) -> list[str]:
        """What axe finds wrong with the page, all of it unfolded: rule and first element."""
        assert _AXE and _AXE.origin
        axe = Path(_AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")
        self.run("document.querySelectorAll('details').forEach(it => { it.open = true; })")
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found: list[str] = self.run(
            f"{axe};axe.run({{resultTypes: ['violations']}}).then(found =>"
            " found.violations.map(it => `${it.id}: ${it.nodes[0].html}`.slice(0, 300)))"
        )
        return found

    def faults(self) -> list[str]:
        """What the console shows as a fault, and every exception."""
        errors = []
        for event in self.events:
            details = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                errors.append(json.dumps(details["exceptionDetails"])[:500])
            if event["method"] == "Log.entryAdded" and details["entry"]["level"] == "error":
                errors.append(details["entry"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and details["type"] == "error":
                errors.append(json.dumps(details["args"])[:500])
        return errors

    def requests(self) -> list[str]:
        """Every address that was requested; the page itself comes first."""
        events = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in events]

    def until(self, is_done: Any) -> None:
        """Take events until `is_done()`; TimeoutError after a minute."""
        end = time.monotonic() + _TIMEOUT_S
        while not is_done():
            self._take(end)

    def _ask(self, method: str, parameters: dict[str, Any], session: str = "") -> Any:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _TIMEOUT_S
        while True:
            answer = self._take(end)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _take(self, end: float) -> dict[str, Any]:
        """The next message; an event is kept too."""
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._back], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._back, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self._read += part
        text, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A Chromium with an empty profile; it ends with the block."""
    assert CHROMIUM
    command_read, command_write = os.pipe()
    answer_read, answer_write = os.pipe()

    def place() -> None:  # Chromium reads commands from 3 and answers to 4
        commands, answers = os.dup(command_read), os.dup(answer_write)
        os.dup2(commands, 3)
        os.dup2(answers, 4)

    process = subprocess.Popen(
        [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=place,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(command_read)
    os.close(answer_write)
    try:
        yield Browser(command_write, answer_read)
    finally:
        process.kill()
        process.wait()
        os.close(command_write)
        os.close(answer_read)


def page_opening_cpu_s(url: str) -> float:
    """Processor time in s of the page's thread until its first view is drawn."""
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as page:
        page.ask("Performance.enable", timeDomain="threadTicks")
        page.open(url)
        page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        metrics = page.ask("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def write_picture(url: str, selector: str, png: Path) -> None:
    """Write a picture of a part of a page, when its scripts have had half a second."""
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as page:
        page.size(1200)
        page.open(url)
        page.run("new Promise(done => setTimeout(done, 500))")
        page.picture(png, selector)


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit(NO_CHROMIUM_REASON)
    elif sys.argv[2:]:
        write_picture(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        print(f"{page_opening_cpu_s(sys.argv[1]):.2f}")
