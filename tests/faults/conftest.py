"""The drill runs by `make faults` (``-m drill``); plain pytest runs a few faults of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from faults.tally import TALLY
from support.virtual import Virtual, booted, lacking

from roundtrip import paths


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "drill: one of the many faults of `make faults`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    drill = [item for item in items if item.get_closest_marker("drill")]
    config.hook.pytest_deselected(items=drill)
    items[:] = [item for item in items if item not in drill]


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # pytest ends with its summary then, and so with the table


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.option.markexpr:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if TALLY or "drill" in config.option.markexpr:
        terminalreporter.section("faults injected, and what they broke")
        for line in TALLY.lines():
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def nothing_broke() -> Iterator[None]:
    """A test that lost, doubled or invented a launch fails, even if its runs were completed."""

    def broken() -> dict[str, int]:
        return {kind: row.lost + row.doubled + row.false_green for kind, row in TALLY.items()}

    before = broken()
    yield
    assert {kind: n for kind, n in broken().items() if n > before.get(kind, 0)} == {}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    if lacking():
        pytest.skip(lacking())
    with booted(tmp_path_factory.mktemp("drill"), f"drill-{os.getpid()}") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def toolchain() -> None:
    name = "openmpi41-boost181"
    if not (paths.toolchains() / name / "toolchain.json").exists():
        pytest.skip(f"toolchain {name} is not installed: make setup")
