"""The drill: nightly one fault of each kind, with ``--drill`` (`make faults`) all of them."""

import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from faults.oracle import MANY, TALLY
from support import programs
from support.programs import CHECKOUT, run_in_checkout
from support.virtual import VirtualCluster, booted_cluster

from checks.mixins.witness import Witnessed


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.nightly)
            item.add_marker(pytest.mark.live)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # pytest ends with its summary then, and so with the table


def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("--drill"):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if TALLY or config.getoption("--drill"):
        terminalreporter.section("faults injected, and what they broke")
        for line in TALLY.lines():
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def nothing_broke() -> Iterator[None]:
    """A test that lost, doubled or invented a launch, or left a run incomplete, fails."""

    def broken() -> dict[str, int]:
        return {kind: row.breaches for kind, row in TALLY.items()}

    initial_counts = broken()
    yield
    assert {kind: n for kind, n in broken().items() if n > initial_counts.get(kind, 0)} == {}


@pytest.fixture(scope="session")
def is_whole(pytestconfig: pytest.Config) -> bool:
    """Whether all faults are injected, not one of each kind."""
    return bool(pytestconfig.getoption("--drill"))


@pytest.fixture
def whole_drill(is_whole: bool) -> None:
    if not is_whole:
        pytest.skip(MANY)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    """One that tests damage, with a small file system in its shared folder."""
    with booted_cluster(tmp_path_factory, "drill", has_small_disk=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def toolchain() -> str:
    name = "openmpi41-boost181"
    if why := programs.describe_missing_toolchains(name):
        pytest.skip(why)
    return name


@pytest.fixture(scope="session")
def netpipe(toolchain: str) -> Path:
    """Our NetPIPE, built; a library that watches other programs is built beside it."""
    build = CHECKOUT / "build" / toolchain
    if (build / "build.ninja").exists():
        run_in_checkout(
            "flock", build / ".lock", "cmake", "--build", build, "--target", "netpipe", "witness"
        )
    else:
        run_in_checkout("make", f"build-{toolchain}")
    return build / "netpipe" / "netpipe"


def watched(netpipe: Path, folder: Path, program: str = "") -> tuple[list[str], Any]:
    """The words that launch a third-party program watched by our library, and its check."""
    library = SimpleNamespace(program=str(netpipe.parents[1] / "witness" / "witness.so"))
    check = SimpleNamespace(
        **{"executable": program, "executable_opts": [], "simulated": False, "stagedir": folder},
        **{"stderr": "err", "witness": library},
    )
    Witnessed.wrap_executable(check)
    return shlex.split(" ".join([check.executable, *check.executable_opts])), check
