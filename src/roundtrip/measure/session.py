"""Runs ReFrame for a campaign: one session builds programs, or launches each of some cases once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from roundtrip import files
from roundtrip.measure import reader, scheduler
from roundtrip.measure.completion import SessionReport, first_build_error
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.measure.progress import TerminalProgress, describe_duration
from roundtrip.measure.tree import RunTree
from roundtrip.sites import schedulers
from roundtrip.sites.site import Site, test_selection_variables

_EVENT_LINE_PATTERN = re.compile(
    r"^\[\s*(?P<kind>RUN|OK|FAIL|ABORT|SKIP)\s*\] (\(.*?\) )?(?P<name>.+)$"
)
_TEST_NAME_PATTERN = re.compile(
    r"^(?P<test>.+?) (?:~\S+ )?(?:'\w+ )?/(?P<hash>[0-9a-f]{8}) @\S+\+(?P<environ>\S+)"
)
_BUILD_STEP_PATTERN = re.compile(rb"\[(\d+)/(\d+)\]")  # as Ninja prints it
_REPORT_FILE = "report.json"
_STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM}
#: Variable that marks the processes of a session with the session's folder.
_SESSION_VARIABLE = "ROUNDTRIP_SESSION"

#: A function that gets an event of ReFrame: RUN, OK, FAIL, ABORT or SKIP, and the test's name.
#: They are parsed from its console, and only shown: results are in its report.
EventListener = Callable[[str, str], None]


def is_fixture(name: str) -> bool:
    """Whether ReFrame's test `name` is a fixture: it builds what other tests launch."""
    return " ~" in name


def describe_test(name: str) -> str:
    """Shorten ReFrame's name of a test for people: without hash and partition."""
    match = _TEST_NAME_PATTERN.match(name)
    return f"{match['test'].replace(' %', ' ')} with {match['environ']}" if match else name


def group_by_command(items: Sequence[ExpectedCase]) -> list[list[ExpectedCase]]:
    """Split cases into as few groups as possible, each of which one ReFrame command can name
    exactly: a product of tests and toolchains on one partition, with the same variables and nodes;
    or one case on the node pairs of a round."""
    toolchains: dict[tuple[object, ...], dict[str, ExpectedCase]] = defaultdict(dict)
    pair_groups: dict[tuple[object, ...], list[ExpectedCase]] = defaultdict(list)
    for item in items:
        if item.pairs:
            pair_groups[item.case, item.variables, item.pairs[0].pair_round].append(item)
            continue
        case = item.case
        test = (case.hash, case.partition, case.check, item.variables, item.nodelist)
        toolchains[test][case.environ] = item
    products: dict[tuple[object, ...], list[ExpectedCase]] = defaultdict(list)
    for (_, *test_key), item_by_environ in toolchains.items():
        key = (*test_key, tuple(sorted(item_by_environ)))
        products[key].extend(item_by_environ.values())
    return [*products.values(), *pair_groups.values()]


def abba_order(items: Sequence[ExpectedCase], seed: int, number: int) -> list[list[ExpectedCase]]:
    """Return the cases of round `number` (from 1) in launch order, one list for each toolchain.

    Rounds 1 and 2, 3 and 4, ... share a coin: AB BA or BA AB, so that a steady drift does not
    change their mean ratio.  A resumed run continues with the coins of its seed.
    """
    environs = sorted({item.case.environ for item in items})
    coin = random.Random(f"{seed} {(number + 1) // 2}").random() < 0.5  # noqa: S311  no secret
    if coin == (number % 2 == 0):
        environs.reverse()
    return [[item for item in items if item.case.environ == environ] for environ in environs]


def launch_command(
    site: Site, cases: Sequence[ExpectedCase], folder: Path, run_name: str
) -> list[str]:
    """ReFrame's command line for one launch of each of a group of cases; it writes to `folder`."""
    case, nodes = cases[0].case, cases[0].nodelist
    manager = schedulers.scheduler_of_partition(site.partitions[case.partition])
    node_options = manager.node_options(nodes) if nodes else []
    return [
        *_reframe_command(site, cases, folder),
        f"--exec-policy={'async' if _is_concurrent(site, cases) else 'serial'}",
        f"--session-extras=campaign={run_name}",
        *manager.reframe_job_options(scheduler.job_comment(run_name)),
        *(f"--job-option={option}" for option in node_options),
        *(f"--setvar={case.check}.{key}={value}" for key, value in cases[0].variables),
        "--run",
    ]


def _reframe_command(site: Site, cases: Sequence[ExpectedCase], folder: Path) -> list[str]:
    """Return ReFrame's command line without an action; it names `cases`, all on one partition."""
    arguments = [
        "reframe",
        # Not all of checks/: ReFrame takes seconds to create its thousands of tests.
        *(f"--checkpath={file}" for file in sorted({item.check_file for item in cases})),
        f"--prefix={folder}",
        f"--perflogdir={folder / 'perflogs'}",
        f"--report-file={folder / _REPORT_FILE}",
        f"--system={site.name}:{cases[0].case.partition}",
        # In random order, because a fixed order would confound cases with time.  Not by a mode in
        # ReFrame's settings, because ReFrame 4.10 ignores --prgenv together with --mode.
        "--exec-order=random",
    ]
    if not cases[0].pairs:  # with pairs, no other tests exist, and their hashes differ
        arguments += [f"--name=/{hash_}" for hash_ in sorted({item.case.hash for item in cases})]
    environs = "|".join(sorted({item.case.environ for item in cases}))
    return [*arguments, f"--prgenv=^({environs})$"]


def _is_concurrent(site: Site, cases: Sequence[ExpectedCase]) -> bool:
    """Whether the launches of `cases` may run concurrently: on node pairs, if the site allows it;
    all others run one at a time, so that none disturbs another."""
    partition = site.partitions[cases[0].case.partition]
    return bool(cases[0].pairs and partition.get("extras", {}).get("side_by_side"))


def _pair_variables(site: Site, cases: Sequence[ExpectedCase]) -> dict[str, str]:
    """Return environment variables with the node pairs of `cases`, for checks; {} without pairs."""
    pairs = [pair for item in cases for pair in item.pairs]
    if not pairs:
        return {}
    round_ = {key: getattr(pairs[0], key) for key in ("pair_round", "pair_night_round")}
    hosts = [list(pair.hosts) for pair in pairs]
    variables = {"ROUNDTRIP_PAIRS": json.dumps({**round_, "hosts": hosts})}
    if _is_concurrent(site, cases):
        variables["ROUNDTRIP_SIDE_BY_SIDE"] = str(len(cases))
    return variables


def _selection_variables(cases: Sequence[ExpectedCase]) -> dict[str, str]:
    """Return environment variables by which checks/ creates only the tests of `cases`."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for item in cases:
        for key, value in item.case.parameters:
            if value not in (choices := values[item.case.check][key]):
                choices.append(value)
    return test_selection_variables({check: [product] for check, product in values.items()})


def run_session(
    site: Site,
    cases: Sequence[ExpectedCase],
    folder: Path,
    run_name: str,
    lock_descriptor: int,
    on_event: EventListener,
    wait: scheduler.SchedulerWait,
) -> float:
    """Launch each of `cases`, a group of `group_by_command`, once by ReFrame; return the duration
    without builds, s.

    `on_event` is called when ReFrame begins or ends a test.  ``session.json`` in `folder` gets the
    durations and ReFrame's exit status, ``console.log`` its output.  If this process dies or is
    interrupted, ReFrame gets TERM and cancels its jobs.  NoAnswerError if the scheduler does not
    answer before the deadline of `wait`.
    """
    selection = {**_selection_variables(cases), **_pair_variables(site, cases)}
    environment = {**site.environment, **selection}
    scheduler.cancel_jobs_and_wait(run_name, environment, wait)
    environment = wait.patient_environment(environment)
    start = time.monotonic()
    arguments = launch_command(site, cases, folder, run_name)
    status = _run_reframe(site, arguments, folder, lock_descriptor, on_event, environment)
    wall_s = time.monotonic() - start
    build_s = min(SessionReport.read(folder / _REPORT_FILE).build_s, wall_s)
    _write_session_record(folder, status, wall_s, build_s=round(build_s, 3))
    return wall_s - build_s


def _run_reframe(
    site: Site,
    arguments: Sequence[str],
    folder: Path,
    lock_descriptor: int,
    on_event: EventListener,
    environment: Mapping[str, str],
) -> int:
    """Run ReFrame to its end, kill the processes that it leaves, and return its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "console.log").open("w") as console:
        with _delay_signals():
            process = subprocess.Popen(
                arguments,
                cwd=site.checkout,
                env={**environment, _SESSION_VARIABLE: str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                pass_fds=(lock_descriptor,),
                start_new_session=True,
                preexec_fn=_prepare_child,
            )
        assert process.stdout is not None  # noqa: S101  for the type checker
        try:
            for line in process.stdout:
                console.write(line)
                if match := _EVENT_LINE_PATTERN.match(re.sub(r"\x1b\[[0-9;]*m", "", line.rstrip())):
                    on_event(match["kind"], match["name"])
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        else:
            return process.wait()
        finally:
            kill_orphans(folder)


def kill_orphans(folder: Path) -> None:
    """Kill processes on this machine that ended sessions in `folder` have left, such as a rank that
    waits for minutes for its killed mpirun."""
    mark = f"{_SESSION_VARIABLE}={folder}".encode()
    deadline = time.monotonic() + 5.0  # one that waits for a file system may not die
    while time.monotonic() < deadline:
        is_clean = True
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                variables = (process / "environ").read_bytes()
                if not variables and _is_in_exec(process):
                    is_clean = False
                    continue
                if any(
                    text == mark or text.startswith(mark + b"/") for text in variables.split(b"\0")
                ):
                    os.kill(int(process.name), signal.SIGKILL)
                    is_clean = False
        if is_clean:
            return
        time.sleep(0.02)


def _is_in_exec(process: Path) -> bool:
    """Whether `process`, a folder of /proc whose environment was empty, may be inside exec, where
    the kernel shows neither arguments nor environment.  A kernel thread has no executable."""
    (process / "exe").readlink()
    has_arguments = bool((process / "cmdline").read_bytes())
    return not has_arguments or bool((process / "environ").read_bytes())


def _write_session_record(folder: Path, status: int, wall_s: float, **more: object) -> None:
    record = {"exit_status": status, "wall_s": round(wall_s, 3), **more}
    (folder / "session.json").write_text(json.dumps(record) + "\n")


@contextlib.contextmanager
def _delay_signals() -> Iterator[None]:
    """Context manager that delays INT and TERM: Python loses an interrupt inside a fork."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


def _prepare_child() -> None:
    """Accept INT and TERM again, and get TERM when the parent ends; called before exec."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
    reader.die_with_parent(signal.SIGTERM)


def build_programs(
    site: Site, expected: Iterable[ExpectedCase], tree: RunTree, progress: TerminalProgress
) -> None:
    """Let ReFrame build all programs that the cases `expected` need, without launching them.  A
    failed build is only shown, with its first error: its launches will fail with the reason."""
    groups = group_builds(expected)
    watch = _BuildProgress(sum(len(group) for group in groups), progress)
    progress.begin_builds(watch.build_count, watch)
    first_start = time.monotonic()
    for group in groups:
        watch.folder = folder = tree.make_build_folder()
        cases = [replace(item, pairs=()) for item in group]
        arguments = [*_reframe_command(site, cases, folder), "--exec-policy=serial"]
        arguments += ["--setvar=build_only=yes", "--run"]
        variables = {**site.environment, **_selection_variables(cases)}
        start, lock = time.monotonic(), tree.lock_descriptor
        status = _run_reframe(site, arguments, folder, lock, watch.on_event, variables)
        _write_session_record(folder, status, time.monotonic() - start)
    progress.end_builds(time.monotonic() - first_start)


def group_builds(expected: Iterable[ExpectedCase]) -> list[list[ExpectedCase]]:
    """Return the cases whose builds are all that `expected` needs: one for each partition, check
    and toolchain.  Each list is for one call of ReFrame."""
    representatives: dict[tuple[str, str, str], ExpectedCase] = {}
    for item in expected:
        representatives.setdefault((item.case.partition, item.case.check, item.case.environ), item)
    items_by_check: dict[tuple[str, str], list[ExpectedCase]] = defaultdict(list)
    for (partition, check, _), item in representatives.items():
        items_by_check[partition, check].append(item)
    groups: dict[tuple[str, tuple[str, ...]], list[ExpectedCase]] = defaultdict(list)
    for (partition, _), items in items_by_check.items():
        groups[partition, tuple(sorted(item.case.environ for item in items))] += items
    return list(groups.values())


class _BuildProgress:
    """The progress of the builds, from Ninja's step counts in the output that ReFrame captures."""

    def __init__(self, builds: int, progress: TerminalProgress) -> None:
        self.build_count = builds
        self.folder = Path()
        self._progress = progress
        self._name = ""
        self._start = 0.0
        self._durations_s: list[float] = []

    def on_event(self, event: str, name: str) -> None:
        """Note the begin or end of a build from an event of ReFrame, as an `EventListener`."""
        if not is_fixture(name):
            return
        if event == "RUN":
            self._name, self._start = describe_test(name), time.monotonic()
        else:
            self._durations_s.append(time.monotonic() - self._start)
            self._name = ""
            error = self._first_error(name) if event == "FAIL" else ""
            self._progress.show_result(event, ": ".join(filter(None, (describe_test(name), error))))

    def __call__(self) -> str:
        if not self._name:
            return ""
        step, steps = self._last_step()
        if not step:
            return f"{self._name}: configuring"
        elapsed_s = time.monotonic() - self._start
        build_s = elapsed_s * steps / step
        other_builds = max(0, self.build_count - len(self._durations_s) - 1)
        # Programs that exist already take no time, so the slowest build predicts the next best.
        remaining_s = build_s - elapsed_s + other_builds * max([build_s, *self._durations_s])
        return f"{self._name}: step {step} of {steps}, about {describe_duration(remaining_s)} left"

    def _first_error(self, name: str) -> str:
        match = _TEST_NAME_PATTERN.match(name)
        if match is None:
            return ""
        folders = self.folder.glob(f"stage/*/*/{match['environ']}/*_{match['hash']}")
        return next(filter(None, map(first_build_error, folders)), "")

    def _last_step(self) -> tuple[int, int]:
        # The stamp of a file begins with the time of its last change.
        outputs = sorted(self.folder.glob("stage/**/rfm_build.out"), key=files.change_stamp)
        try:
            steps = _BUILD_STEP_PATTERN.findall(outputs[-1].read_bytes())
            return int(steps[-1][0]), int(steps[-1][1])
        except (IndexError, OSError):
            return 0, 0
