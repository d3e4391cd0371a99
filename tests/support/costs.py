"""What each test costs: the ten most expensive, the time of each folder, a limit for unit tests.

Processor time is that of the test's process and of the children that it waited for.  What fixtures
of a wider scope than the test take is not counted against the test that happens to come first; nor
are imports: a test over the limit runs again, twice at most, and the cheapest run counts.  A test
over the limit is listed, one over twice the limit fails the run.  A run with nightly tests sets no
limit.
"""

import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

#: Seconds of processor time that a unit test may take outside of shared fixtures, on a processor
#: that runs the sum of squares below in `_REFERENCE_S`; on a slower or busier one, more.
LIMIT_S = 2.0
#: A run fails above this multiple of the limit, and only lists the tests below it: the same test
#: took 1.8 s and 3.5 s within an hour, on one machine that other guests share.
_NOISE_FACTOR = 2.0
_REFERENCE_S = 0.06
_MAX_RUNS = 3
_LISTED_TESTS = 10
_PROPERTY_NAME = "processor seconds"
_BEGIN_S, _SHARED_FIXTURES_S = pytest.StashKey[float](), pytest.StashKey[float]()
_HAS_LIMIT = pytest.StashKey[bool]()


@dataclass
class Costs:
    """Seconds by test; `net_s_by_test` has the unit tests alone, without their shared fixtures."""

    total_s_by_test: dict[str, float] = field(default_factory=dict)
    net_s_by_test: dict[str, float] = field(default_factory=dict)
    wall_s_by_test: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def tests_over(self, limit_s: float) -> list[str]:
        """The unit tests that took more than so many seconds, the most expensive first."""
        tests = [test for test, seconds in self.net_s_by_test.items() if seconds > limit_s]
        return sorted(tests, key=lambda test: -self.net_s_by_test[test])

    def report_lines(self) -> Iterator[str]:
        folders: dict[str, list[str]] = defaultdict(list)
        for test in self.total_s_by_test:
            folders[_test_folder(test)].append(test)
        yield f"{'folder':<16}{'tests':>7}{'wall s':>9}{'processor s':>13}"
        for folder, tests in sorted(folders.items(), key=lambda item: -self._sum(item[1])):
            wall = sum(self.wall_s_by_test[test] for test in tests)
            yield f"{folder:<16}{len(tests):>7}{wall:>9.1f}{self._sum(tests):>13.1f}"
        yield ""
        for test in sorted(self.total_s_by_test, key=lambda test: -self.total_s_by_test[test])[
            :_LISTED_TESTS
        ]:
            yield f"{self.total_s_by_test[test]:8.2f} processor s  {test}"

    def _sum(self, tests: list[str]) -> float:
        return sum(self.total_s_by_test[test] for test in tests)


COSTS = Costs()


def _test_folder(test: str) -> str:
    """The folder of tests/ with the test's file, "tests" for those that are in none."""
    folders = PurePath(test.partition("::")[0]).parts[:-1]
    return folders[1] if len(folders) > 1 else "tests"


def _processor_slowdown() -> float:
    """The time of a fixed loop on this processor now, over that on the reference; at least 1."""
    begin = time.process_time()
    for _ in range(20):
        sum(number * number for number in range(75_000))
    return max(1.0, (time.process_time() - begin) / _REFERENCE_S)


def _processor_s() -> float:
    return sum(os.times()[:4])


def pytest_collection_finish(session: pytest.Session) -> None:
    # Sanitizers of the nightly tier would share caches and processors with a unit test.
    is_nightly = any(item.get_closest_marker("nightly") for item in session.items)
    session.config.stash[_HAS_LIMIT] = not is_nightly


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    begin = _processor_s()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            stash = request._pyfuncitem.stash
            stash[_SHARED_FIXTURES_S] = stash.get(_SHARED_FIXTURES_S, 0.0) + _processor_s() - begin


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[_BEGIN_S], item.stash[_SHARED_FIXTURES_S] = _processor_s(), 0.0
    yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    seconds = _processor_s() - item.stash[_BEGIN_S]
    is_unit_test = not any(item.get_closest_marker(name) for name in ("nightly", "live"))
    is_limited = item.config.stash[_HAS_LIMIT] and is_unit_test
    net_s = seconds - item.stash[_SHARED_FIXTURES_S] if is_limited else None
    if net_s and net_s > LIMIT_S:
        net_s /= _processor_slowdown()
    item.user_properties.append((_PROPERTY_NAME, (seconds, net_s)))
    yield


def _net_processor_s(item: pytest.Item) -> float:
    """Processor time of a test's last run without shared fixtures, s.

    0 for a test without a limit, or one that has not begun.
    """
    return dict(item.user_properties).get(_PROPERTY_NAME, (0.0, None))[1] or 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest's own, but run a test over the limit again, and report its cheapest run."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, minimum_s = runtestprotocol(item, log=False, nextitem=nextitem), _net_processor_s(item)
    for _ in range(1, _MAX_RUNS):
        if minimum_s <= LIMIT_S or not all(report.passed for report in reports):
            break
        item.user_properties.clear()
        new_reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if _net_processor_s(item) < minimum_s or not all(report.passed for report in new_reports):
            reports, minimum_s = new_reports, _net_processor_s(item)
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    COSTS.wall_s_by_test[report.nodeid] += report.duration
    seconds = dict(report.user_properties).get(_PROPERTY_NAME)
    if report.when == "teardown" and isinstance(seconds, (tuple, list)):
        COSTS.total_s_by_test[report.nodeid], net_s = seconds
        if net_s is not None:
            COSTS.net_s_by_test[report.nodeid] = net_s


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.OK and COSTS.tests_over(_NOISE_FACTOR * LIMIT_S):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not COSTS.total_s_by_test:
        return
    terminalreporter.section("what the tests cost")
    for line in COSTS.report_lines():
        terminalreporter.write_line(line)
    for test in COSTS.tests_over(LIMIT_S):
        seconds = COSTS.net_s_by_test[test]
        is_failure = seconds > _NOISE_FACTOR * LIMIT_S
        terminalreporter.write_line(
            f"{'FAILED' if is_failure else 'WARNING'} {test}: {seconds:.1f} s of processor time, "
            f"a unit test has {LIMIT_S}: make it cheaper, or mark it nightly",
            red=is_failure,
        )
