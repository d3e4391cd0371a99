"""What Roundtrip itself costs: in a campaign beside its jobs, for a report, a start, a history."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from roundtrip import paths
from roundtrip.content import nights
from roundtrip.content.series import split_series
from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.measure import analysis, bundle
from roundtrip.measure.launches import scan_launches
from roundtrip.report.pages import history as page
from roundtrip.sites.site import Site
from tools.bench import run

SAMPLES_PER_POINT = 300  # x points of two toolchains x 8 launches: just over a million
NIGHTS, SERIES = 365, 500
CAMPAIGN, SITE = "synthetic", "local"
#: Commands that a person waits for.
_TIMED_COMMANDS = (
    ("reframe", "-c", "checks", "-R", "-l"),
    ("roundtrip", "--version"),
    ("roundtrip", "run", "smoke", "--site", "local", "--dry-run"),
    ("roundtrip", "run", "wan-npb", "--site", "virtual", "--dry-run"),
)
_Result = TypeVar("_Result")


def overhead() -> Iterator[str]:
    """What the framework adds: wall time of the newest `smoke` run over the run time of its jobs.

    The wall time is that of the rounds, without builds.  The time of a job includes its launcher,
    as ReFrame recorded it.  UserError if there is no run of `smoke`, or no launch of it completed.
    """
    trees = sorted((paths.runs() / "smoke").glob("*/*/state.json"))
    if not trees:
        raise UserError("no run of campaign smoke yet; run: make campaign")
    tree = trees[-1].parent
    launches = [launch for launch in scan_launches(tree) if launch.status == "passed"]
    wall = jobs = 0.0
    for report in sorted(tree.glob("rounds/*/report.json")):
        data = json.loads(report.read_text())
        wall += json.loads(report.with_name("session.json").read_text())["wall_s"]
        for test in (test for session in data["runs"] for test in session["testcases"]):
            if test.get("fixture"):
                wall -= (test["time_setup"] or 0.0) + (test["time_compile"] or 0.0)
            else:
                jobs += test["time_run"] or 0.0
    if not jobs:
        raise UserError("the newest run of smoke has no launches", tree)
    workload_s = sum(launch.run_record["elapsed_s"] for launch in launches)
    yield (
        f"{len(launches)} launches: {wall:.1f} s of sessions without builds, {jobs:.1f} s of jobs "
        f"({workload_s:.1f} s inside the workload); ratio {wall / jobs:.3f}"
    )


def reporting() -> Iterator[str]:
    """Time and memory of collecting and reporting a million synthetic samples.

    Wall time of collecting into a bundle, here, and of ``roundtrip report``, in a new process; peak
    memory of both.  UserError if a command fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "run"
        _run_generator("synthetic.py", tree, SAMPLES_PER_POINT)
        samples = sum(launch.run_record["samples"]["rows"] for launch in scan_launches(tree))
        start = time.monotonic()
        bundle_folder = bundle.build_bundle(tree)
        collect_s = time.monotonic() - start
        roundtrip = Path(sys.executable).with_name("roundtrip")
        run([str(roundtrip), "report", str(bundle_folder), "--output", f"{folder}/reports"])
        wall_s = time.monotonic() - start
    ids = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in ids) / 1e6  # of any process; kB -> GB
    yield (
        f"{samples} synthetic samples: collected in {collect_s:.1f} s, reported in "
        f"{wall_s - collect_s:.1f} s, {wall_s:.1f} s in all, {peak:.2f} GB at most"
    )


def starting() -> Iterator[str]:
    """What a start costs: processor time of listing all checks, and of dry runs.

    User plus system time of each command and of all that it starts.  UserError if one fails.
    """
    environment = dict(Site("local", paths.checkout()).environment)
    for command in _TIMED_COMMANDS:
        program = str(Path(sys.executable).with_name(command[0]))
        cpu_s, _ = _time_call(partial(run, [program, *command[1:]], environment))
        yield f"{' '.join(command)}: {cpu_s:.1f} s of processor time"


def history(count: int = NIGHTS, series: int = SERIES) -> Iterator[str]:
    """Processor time and memory of a year of nights: ledger, detection, the page, and its opening.

    User plus system time of each step, and the largest memory of this process.  The reports are
    made in a temporary folder.  UserError if they cannot be made.
    """
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder)
        _run_generator("nights.py", reports, count, series, 0)
        cold_s, _ = _time_call(lambda: ledger.read_ledger(reports, CAMPAIGN, SITE))
        _run_generator("nights.py", reports, 1, series, count)
        night_s, records = _time_call(lambda: ledger.read_ledger(reports, CAMPAIGN, SITE))
        settings = analysis.default_settings().history
        detection_s, verdicts = _time_call(
            lambda: nights.judge_all_series(records.nights, records.provenance, settings)
        )
        drawing_s, text = _time_call(lambda: _render_history_page(records, verdicts))
        page_opening = _describe_page_opening(text, reports / "history.html")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kB -> GB
    total = cold_s + detection_s + drawing_s
    yield f"{count} nights x {series} series, s of processor time:"
    steps = (cold_s, night_s, detection_s, drawing_s)
    yield "ledger {:.1f}, a night more {:.1f}, detection {:.1f}, page {:.1f}".format(*steps)
    yield f"all {total:.1f}; {peak:.2f} GB at most; page {len(text) / 1e6:.1f} MB"
    yield f"until a browser has drawn the page: {page_opening}"


def _render_history_page(records: ledger.Ledger, verdicts: nights.NightVerdicts) -> str:
    series = {tuple(line.data.identity.values()): line.history for line in verdicts.judged_series}
    assert len(series) == sum(1 for _ in split_series(records.nights))  # noqa: S101
    return page.render_page(
        page.HistoryPage(
            CAMPAIGN, SITE, records.nights, records.provenance, series, verdicts.settings
        )
    )


def _describe_page_opening(text: str, file: Path) -> str:
    """Return the processor time of Chromium's page thread, or why it was not measured."""
    file.write_text(text, encoding="utf-8")
    program = paths.checkout() / "tests" / "support" / "browser.py"
    process = subprocess.run(
        [sys.executable, str(program), file.as_uri()], capture_output=True, text=True
    )
    if process.returncode:
        return f"not measured: {(process.stderr.strip().splitlines() or ['no answer'])[-1]}"
    return f"{process.stdout.strip()} s"


def _run_generator(program: str, folder: Path, *numbers: int) -> None:
    """Run a generator of the tests: `program` in tests/support fills `folder`."""
    generator = paths.checkout() / "tests" / "support" / program
    run([sys.executable, str(generator), str(folder), *map(str, numbers)])


def _time_call(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Return the processor time of `work` and its child processes, s, and its result."""
    start_s = _processor_s()
    result = work()
    return _processor_s() - start_s, result


def _processor_s() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
