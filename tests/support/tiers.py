"""Which tests run, and which of them beside each other.

Tiers are markers: none (`make test`), `nightly` (`make test-all`); a test that needs what this
machine lacks is skipped and says what.  ``--part K/N`` takes the K-th of N parts of the nightly
tests, the same for each checkout.  With ``-n`` the tests of one file stay together, for their
fixtures' sake, and all `live` ones run one after another.  While a `quiet` one runs, no other does.
"""

import fcntl
import hashlib
import re
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling

MARKERS = (
    "nightly: too long for `make test`; `make test-all` runs it, `.ci/run` each in turn",
    "live: launches MPI jobs or daemons on this machine, and runs beside no other such test",
    "quiet: measures what other work on the machine would spoil: no other test runs beside it",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--drill", action="store_true", help="all faults, not one of each kind")
    parser.addoption("--part", metavar="K/N", help="only part K (0 to N-1) of the nightly tests")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def part_of_test(test: str, parts: int) -> int:
    """The part, 0 to `parts` - 1, that runs the test of this id."""
    return int.from_bytes(hashlib.sha256(test.encode()).digest()[:8]) % parts


def _requested_part(config: pytest.Config) -> tuple[int, int] | None:
    text = config.getoption("--part")
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)/([1-9]\d*)", text)
    if not match or int(match[1]) >= int(match[2]):
        raise pytest.UsageError(f"--part {text}: K/N is wanted, with K from 0 to N-1")
    return int(match[1]), int(match[2])


# Before xdist reads the groups, and after the folders' own, which are registered later.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if part := _requested_part(config):
        number, parts = part
        other_items = [
            item
            for item in items
            if item.get_closest_marker("nightly") and part_of_test(item.nodeid, parts) != number
        ]
        config.hook.pytest_deselected(items=other_items)
        other_set = set(other_items)
        items[:] = [item for item in items if item not in other_set]
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker(pytest.mark.xdist_group("live"))
    # What takes longest begins first, so that no worker is left with it in the end; of that, the
    # files with quiet tests, while short tests are left that take turns with them.
    quiet_files = {item.path for item in items if item.get_closest_marker("quiet")}
    items.sort(
        key=lambda item: (item.get_closest_marker("live") is None, item.path not in quiet_files)
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a quiet test run alone, and before tests that come later."""
    # The variable of xdist would not do: a pytest that a test runs inherits it, and would wait.
    worker = getattr(item.config, "workerinput", None)
    if worker is None:
        return (yield)
    run = worker["testrunuid"]
    place = Path(tempfile.gettempdir())
    with (
        (place / f"roundtrip-tests-{run}.turn").open("w") as turn_lock,
        (place / f"roundtrip-tests-{run}.running").open("w") as running_lock,
    ):
        fcntl.flock(turn_lock, fcntl.LOCK_EX)
        fcntl.flock(
            running_lock, fcntl.LOCK_EX if item.get_closest_marker("quiet") else fcntl.LOCK_SH
        )
        fcntl.flock(turn_lock, fcntl.LOCK_UN)
        return (yield)


class FileSchedule(LoadGroupScheduling):
    """Gives a worker all tests of a file, or of a marked group."""

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileSchedule:
    return FileSchedule(config, log)
