"""The scanner: what counts as a launch, and why the others failed."""

import shutil
from typing import Any

import polars as pl
import pytest
from measure.conftest import ENVIRON, Maker, read_cases
from support.json_files import content, edit
from support.synthetic import SyntheticTree

from roundtrip.measure.launch import Launch
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.outcome import RunOutcome
from roundtrip.measure.tree import RunTree


def the_failed(tree: Any) -> Launch:
    (launch,) = [launch for launch in scan_launches(tree.path) if launch.status != "passed"]
    return launch


def test_all_launches_of_a_good_run_passed(make_tree: Maker) -> None:
    tree = make_tree(launches=3)
    launches = scan_launches(tree.path)
    assert len(launches) == 6
    assert {launch.status for launch in launches} == {"passed"}
    assert launches[0].id == "001/mpich40-boost181/NetPIPE_ping"
    assert launches[0].case_id == tree.case_id("mpich40-boost181")
    assert launches[0].case_record["study"] == "netpipe"
    assert launches[0].run_record["ranks"] == 2
    assert not any(launch.disturbance_reasons for launch in launches)


def test_session_1000_is_after_999(tree: SyntheticTree) -> None:
    """As text it is before; then the copy would count, and the original not."""
    rounds = tree.path / "rounds"
    (rounds / "001").rename(rounds / "999")
    shutil.copytree(rounds / "999", rounds / "1000")
    statuses = [(launch.session, launch.status) for launch in scan_launches(tree.path)]
    assert statuses == [("999", "passed"), ("1000", "failed")]


def test_a_launch_of_4_of_20_sizes_is_partial_and_has_not_passed(make_tree: Maker) -> None:
    tree = make_tree(launches=5, environs=(ENVIRON,))
    for number, sizes in ((4, 20), (5, 4)):
        run = tree.launch_folder(number, ENVIRON) / "run.json"
        edit(run, coverage={"measured": sizes, "wanted": 20})
    launches = scan_launches(tree.path)
    assert [launch.status for launch in launches] == ["passed"] * 4 + ["partial"]
    partial_reason, *disturbances = launches[4].reason.split("; ")
    lack = "measured 4 of the 20 sizes of its coarse grid before its time was over"
    assert partial_reason == lack
    assert "load average 4.4 at the start, on 2 cores" in disturbances
    outcome = RunOutcome.from_tree(RunTree(tree.path))
    assert not outcome.is_complete
    first_line, *_, partial_line, missing_line = outcome.describe_lines()
    assert first_line == "1 case: 4 of 5 launches completed; 1 more only partial"
    assert partial_line == f"partial 1 x {tree.case_id(ENVIRON)}: {launches[4].reason}"
    assert missing_line == f"missing 1 x {tree.case_id(ENVIRON)}"


def test_a_simulated_launch_is_never_partial(tree: SyntheticTree) -> None:
    edit(tree.launch_folder(1, ENVIRON) / "case.json", simulated=True)
    simulator = {"simgrid": "3.32", "platform": "odin", "platform_sha256": "0" * 64}
    run = tree.launch_folder(1, ENVIRON) / "run.json"
    edit(run, simulated=simulator, coverage={"measured": 4, "wanted": 20})
    (launch,) = scan_launches(tree.path)
    assert launch.status == "passed", launch.reason


def test_a_failed_launch_has_a_reason_and_last_words(two_launches: SyntheticTree) -> None:
    reason = "sanity error: no end marker: the workload died or was killed"
    stage = two_launches.fail_launch(2, ENVIRON, fail_reason=reason, job_exitcode=137)
    (stage / "run.json").unlink()
    (stage / "rfm_job.err").write_text("first\nmpirun noticed that rank 1 died\x1b[0m\n\n")
    launch = the_failed(two_launches)
    assert launch.status == "failed"
    assert launch.id == f"002/{ENVIRON}/NetPIPE_ping"
    assert launch.reason == (
        f"{reason}; killed by signal 9 (SIGKILL); last words: mpirun noticed that rank 1 died?[0m"
    )


def test_a_killed_session_leaves_interrupted_launches(two_launches: SyntheticTree) -> None:
    stage = two_launches.fail_launch(2, ENVIRON)
    (stage / "run.json").unlink()
    (two_launches.path / "rounds" / "002" / "report.json").unlink()
    assert the_failed(two_launches).reason.startswith("interrupted: the ReFrame session was killed")


@pytest.mark.parametrize("is_copied", [True, False])
def test_a_session_that_stops_keeps_copies(two_launches: SyntheticTree, is_copied: bool) -> None:
    if not is_copied:
        two_launches.fail_launch(2, ENVIRON)
    two_launches.write_report(2, [two_launches.report_entry(2, ENVIRON, "abort")])
    first, second = scan_launches(two_launches.path)
    assert first.status == "passed"
    reason = "interrupted: the ReFrame session had to stop"
    assert (second.status, second.reason) == (("passed", "") if is_copied else ("failed", reason))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("[1/2] c++ a.cpp\na.hpp:3:5: error: no \x07such type\na.h:9: error: more", ": a.hpp:3:5"),
        ("ld: a.o: in f: undefined reference to `g()'\n", ": ld: a.o"),
        ("-- Found MPI\nCMake Error at CMakeLists.txt:3 (find):\n", ": CMake Error at"),
        ("-- Found MPI\n", ""),
    ],
)
def test_the_first_error_of_a_build(tree: SyntheticTree, output: str, words: str) -> None:
    shutil.rmtree(tree.launch_folder(1, ENVIRON))
    name, error = f"build_workloads ~local:smp+{ENVIRON}", "build error: build job failed"
    facts = {"display_name": name, "fixture": True, "fail_reason": error}
    facts |= {"fail_phase": "compile_wait"}  # as ReFrame writes it
    facts["stagedir"] = "/anywhere/build_workloads_1"
    build = tree.report_entry(1, ENVIRON, "fail", **facts)
    tree.write_report(1, [build, tree.report_entry(1, ENVIRON, "fail_deps", stagedir=None)])
    folder = tree.path / "rounds/001/stage/local/smp" / ENVIRON / "build_workloads_1"
    folder.mkdir(parents=True)
    (folder / "rfm_build.out").write_text(output)
    launch = the_failed(tree)
    assert launch.case_id == tree.case_id(ENVIRON)
    assert launch.reason.startswith(f"build_workloads failed: {error}{words}")
    assert launch.reason.isprintable()
    assert words or launch.reason.endswith(error)


def test_a_missing_launch_has_the_reason_of_the_last_failure(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON, "mpich40-boost181"))
    for number, reason in ((1, "no room"), (2, "no route")):
        shutil.rmtree(tree.launch_folder(number, ENVIRON))
        entry = tree.report_entry(number, ENVIRON, "fail", fail_reason=reason)
        tree.write_report(number, [entry])
    case = tree.case_id(ENVIRON)
    *_, missing_line = RunOutcome.from_tree(RunTree(tree.path)).describe_lines()
    assert missing_line == f"missing 2 x {case}; the last failure: no route"
    rows = read_cases(tree)
    reasons = rows.filter(pl.col("status") == "missing")["reason"].to_list()
    words = "0 of 2 launches completed, 2 failed; the last failure: no route"
    assert reasons == [f"launch {number} of 2: {words}" for number in (1, 2)]


def test_a_test_that_skips_itself_is_skipped(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON, "mpich40-boost181"))
    shutil.rmtree(tree.launch_folder(1, ENVIRON))
    tree.write_report(1, [tree.report_entry(1, ENVIRON, "skip", skip_reason="not here")])
    assert the_failed(tree).status == "skipped"
    assert the_failed(tree).reason == "not here"
    case = tree.case_id(ENVIRON)
    *_, skipped_line, missing_line = RunOutcome.from_tree(RunTree(tree.path)).describe_lines()
    assert skipped_line == f"skipped itself 1 x {case}: not here"
    assert missing_line == f"missing 1 x {case}"
    rows = read_cases(tree).sort("status")
    assert rows.filter(pl.col("case_id") == case).select("status", "reason").rows() == [
        ("missing", "launch 1 of 1: was never launched; skipped itself: not here"),
        ("skipped", "not here"),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ranks": 4}, "ran with 4 ranks instead of 2"),
        ({"complete": False}, "run.json: the workload did not complete"),
    ],
)
def test_a_run_json_that_does_not_fit(tree: SyntheticTree, changes: Any, reason: str) -> None:
    edit(tree.launch_folder(1, ENVIRON) / "run.json", **changes)
    assert the_failed(tree).reason.startswith(reason)


def test_bad_samples_fail_the_launch_with_the_first_line(tree: SyntheticTree) -> None:
    file = tree.launch_folder(1, ENVIRON) / "samples.csv"
    content = file.read_bytes().splitlines(keepends=True)
    content[5] = content[5].replace(b",s\n", b",us\n")
    content[9] = b"\xff\n"
    file.write_bytes(b"".join(content))
    assert the_failed(tree).reason == ("samples.csv:6: unit 'us'; right is 's' (and 1 more)")


@pytest.mark.parametrize("name", ["run.json", "samples.csv"])
def test_a_launch_without_one_of_its_files(tree: SyntheticTree, name: str) -> None:
    (tree.launch_folder(1, ENVIRON) / name).unlink()
    assert the_failed(tree).reason.startswith(name)


def test_a_launch_of_another_study_than_its_case(tree: SyntheticTree) -> None:
    edit(tree.launch_folder(1, ENVIRON) / "case.json", study="ring")
    assert the_failed(tree).reason == "samples.csv is of study netpipe, not ring"


def test_a_second_scan_sees_what_changed(tree: SyntheticTree) -> None:
    assert scan_launches(tree.path)[0].status == "passed"
    edit(tree.launch_folder(1, ENVIRON) / "run.json", complete=False, padding="x")
    assert scan_launches(tree.path)[0].status == "failed"


@pytest.mark.parametrize(
    "report", ["null", "[]", '{"runs": [{"testcases": [3]}]}', '{"runs": 1}', '{"runs": [']
)
def test_a_broken_session_report_counts_as_none(tree: SyntheticTree, report: str) -> None:
    (tree.path / "rounds" / "001" / "report.json").write_text(report)
    assert [launch.status for launch in scan_launches(tree.path)] == ["passed"]


def test_a_copied_launch_counts_once(two_launches: SyntheticTree) -> None:
    folder = next((two_launches.path / "rounds" / "001" / "output").rglob("case.json")).parent
    shutil.copytree(folder, folder.with_name(folder.name + "_copy"))
    launch = the_failed(two_launches)
    original = f"001/{ENVIRON}/{folder.name}"
    assert launch.reason == f"samples.csv: the very samples of launch {original}: a copy"


def test_a_launch_that_had_no_time_says_how_busy_the_machine_was(make_tree: Maker) -> None:
    tree = make_tree(launches=2)
    folder = tree.launch_folder(2, ENVIRON)
    head = (folder / "samples.csv").read_text().split("netpipe,")[0]
    (folder / "samples.csv").write_text(head)
    with content(folder / "run.json") as run:
        for point in run["points"]:
            point |= {"status": "budget", "samples": 0}
        run["budget_s"], run["disturbance"]["load_average_start"] = 1.0, [14.25]
    assert the_failed(tree).reason == (
        "its budget of 1 s was spent before anything was measured, at a load average of 14.2: "
        "give it a larger one"
    )


@pytest.mark.parametrize(("logical", "is_busy"), [(64, False), (8, True), (None, False)])
def test_load_is_judged_by_processors(tree: SyntheticTree, logical: Any, is_busy: bool) -> None:
    edit(tree.path / "env" / "host.json", hostname="login")
    with content(tree.launch_folder(1, ENVIRON) / "run.json") as run:
        run["nodes"][0]["logical"] = logical
        run["disturbance"]["load_average_start"] = [14.2]
    (launch,) = scan_launches(tree.path)
    assert any("load average" in why for why in launch.disturbance_reasons) == is_busy
