"""A headless Chromium, driven by the DevTools protocol over a pipe: standard library only.

As a program it prints the processor time in seconds that a page takes until it is drawn:
``python tests/support/browser.py URL``.
"""

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

    def __init__(self, command_fd: int, answer_fd: int) -> None:
        self._command_fd, self._answer_fd = command_fd, answer_fd
        self._buffer = b""
        self._count = 0
        self.events: list[dict[str, Any]] = []
        target = self._send("Target.createTarget", {"url": "about:blank"})["targetId"]
        answer = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send_command(f"{domain}.enable")

    def send_command(self, method: str, **parameters: Any) -> Any:
        """Send a DevTools command for the page; return the answer.  RuntimeError if refused."""
        return self._send(method, parameters, self._session)

    def open(self, url: str) -> None:
        """Load a page, and wait until it has loaded."""
        self.events.clear()
        self.send_command("Page.navigate", url=url)
        self.await_true(
            lambda: any(event["method"] == "Page.loadEventFired" for event in self.events)
        )

    def evaluate(self, script: str) -> Any:
        """Evaluate JavaScript, await a promise, return the value; RuntimeError if it throws."""
        answer = self.send_command(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.send_command("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def set_window(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window in pixels, and whether the reader prefers dark pages."""
        self.send_command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send_command("Emulation.setEmulatedMedia", features=[scheme])

    def count_sheets(self, paper: tuple[float, float]) -> int:
        """Print the page; return the number of sheets.  `paper`: width and height in inches."""
        pdf = self.send_command("Page.printToPDF", paperWidth=paper[0], paperHeight=paper[1])[
            "data"
        ]
        return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(pdf)))

    def axe_violations(self) -> list[str]:
        """Unfold the page; return what axe finds wrong: rule and first element of each kind."""
        assert _AXE and _AXE.origin
        axe = Path(_AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")
        self.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
        self.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        found: list[str] = self.evaluate(
            f"{axe};axe.run({{resultTypes: ['violations']}}).then(found =>"
            " found.violations.map(it => `${it.id}: ${it.nodes[0].html}`.slice(0, 300)))"
        )
        return found

    def console_errors(self) -> list[str]:
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

    def requested_urls(self) -> list[str]:
        """Addresses that were requested, the page itself first."""
        events = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in events]

    def await_true(self, is_done: Any) -> None:
        """Read messages until `is_done()`; TimeoutError after a minute."""
        end = time.monotonic() + _TIMEOUT_S
        while not is_done():
            self._next_message(end)

    def _send(self, method: str, parameters: dict[str, Any], session: str = "") -> Any:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._command_fd, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _TIMEOUT_S
        while True:
            answer = self._next_message(end)
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next_message(self, end: float) -> dict[str, Any]:
        """Read the next message and return it; append an event to `events`."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answer_fd], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._answer_fd, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
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
    """Processor time of the page's thread until its first view is drawn, s."""
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as page:
        page.send_command("Performance.enable", timeDomain="threadTicks")
        page.open(url)
        page.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        metrics = page.send_command("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


if __name__ == "__main__":
    if CHROMIUM is None:
        sys.exit(NO_CHROMIUM_REASON)
    print(f"{page_opening_cpu_s(sys.argv[1]):.2f}")
