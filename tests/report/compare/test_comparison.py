"""What is claimed of two sides, what is only shown or not compared, and when a run may stop."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from report.compare.conftest import MPICH, OPENMPI, THIRD, change_all, sides
from support.json_files import content, edit
from support.simulated import simulate

from roundtrip.errors import UserError
from roundtrip.measure import records
from roundtrip.report.compare import comparison, model
from roundtrip.report.compare.comparison import Watch
from roundtrip.report.compare.model import Comparison, Row, Status
from roundtrip.report.compare.side import Fact
from roundtrip.stats.verdicts import q_values

Tree = Callable[..., Any]
Between = Callable[..., Comparison]
LATER = "2026-11-22T07:00:00Z"


def row(comparison: Comparison, series: str) -> Row:
    return next(
        row for row in comparison.rows if model.describe_series(row).replace("\xa0", " ") == series
    )


def test_toolchains_of_one_run_are_claimed_by_round(tree: Tree, between: Between) -> None:
    """Corrected together and ranked by evidence; the other way round the new side improved."""
    run = tree()
    comparison = between(*sides(run))
    first = row(comparison, "MPI, ping-pong, 1 B")
    assert first.verdict is not None
    assert first.verdict.interval.n == 10
    assert first.verdict.interval.median == pytest.approx(0.28 / 0.36, rel=0.05)
    assert first.base.median == pytest.approx(0.28, rel=0.1)
    assert first.new.median == pytest.approx(0.36, rel=0.1)
    assert first.status is Status.REGRESSED
    assert comparison.exit_status == 1
    assert comparison.advice == ""
    verdicts = [row.verdict for row in comparison.rows if row.verdict]
    assert len(verdicts) == len(comparison.rows) > 6
    p_values = [verdict.p for verdict in verdicts]
    assert [verdict.q for verdict in verdicts] == pytest.approx(q_values(p_values))
    assert p_values == sorted(p_values)
    reverse = between(*sides(run, MPICH, OPENMPI))
    assert row(reverse, "MPI, ping-pong, 1 B").status is Status.IMPROVED
    assert reverse.exit_status == 0


def test_the_least_regression_that_fails_can_be_chosen(tree: Tree, between: Between) -> None:
    specs = sides(tree())
    lenient = between(*specs, fail_on=0.9)
    assert (lenient.exit_status, lenient.levels.equivalence_margin) == (0, 0.9)
    assert lenient.levels.equivalence_margins == ()
    assert between(*specs, fail_on=0.2).exit_status == 1


def test_two_nights_are_shown_and_not_claimed(tree: Tree, between: Between) -> None:
    """However large the difference: 2.5 times here."""
    one, other = tree("one"), tree("other", LATER)
    for file in other.path.glob("rounds/*/output/*/*/*/*/run.json"):
        start = json.loads(file.read_text())["start_time"].replace("-21T", "-22T")
        edit(file, start_time=start)
    comparison = between(one.path, other.path)
    assert {row.status for row in comparison.rows} == {Status.NO_CLAIM}
    assert all((row.base.n, row.new.n) == (10, 10) for row in comparison.rows)
    assert comparison.exit_status == 1
    notes = " ".join(model.notes(comparison))
    assert "measured on different nights: a machine drifts by more than most builds differ" in notes
    assert "cannot be interleaved" in notes
    assert not comparison.removed and not comparison.added


def test_without_a_claim_the_command_that_allows_one_is_shown(tree: Tree, between: Between) -> None:
    one, other = tree("one", environs=(OPENMPI,)), tree("other", LATER, environs=(MPICH,))
    comparison = between(one.path, other.path)
    assert comparison.rows and comparison.exit_status == 1
    assert comparison.advice == (
        f"to measure both interleaved: roundtrip ab {OPENMPI} {MPICH} "
        "--checks NetPIPE:mode=pingpong,placement=shared-memory --site local"
    )


def test_blocks_of_one_run_are_no_pairs(tree: Tree, between: Between) -> None:
    run = tree()
    for number in range(1, 11):
        (run.path / "rounds" / f"{number:03d}" / "round.json").write_text('{"round": 1}')
        change_all(run, "run.json", MPICH)
    comparison = between(*sides(run))
    assert {row.verdict.interval.n for row in comparison.rows if row.verdict} == {1}
    assert comparison.exit_status == 1


def emulate(run: Any) -> None:
    change_all(run, "case.json", emulated={"wan_rtt_ms": 2})


@pytest.mark.parametrize(
    ("make", "kind"),
    [(emulate, "EMULATED WAN: RTT 2 ms"), (lambda run: simulate(run.path), "SIMULATED")],
)
def test_like_is_compared_with_like(tree: Tree, between: Between, make: Any, kind: str) -> None:
    one, other = tree("one"), tree("other", LATER)
    make(other)
    comparison = between(one.path, other.path)
    assert comparison.rows == ()
    assert comparison.exit_status == 1
    (refusal,) = comparison.refusals
    assert f"measured and {kind}" in refusal
    assert len(comparison.removed) == len(comparison.added) == 2


def test_emulated_is_compared_with_its_like(tree: Tree, between: Between) -> None:
    one, other = tree("one"), tree("other", LATER)
    for run in (one, other):
        emulate(run)
    comparison = between(one.path, other.path)
    assert comparison.rows
    assert "EMULATED WAN: RTT 2 ms" in model.describe_case(comparison.rows[0])


def test_of_two_simulations_nothing_is_claimed(tree: Tree, between: Between) -> None:
    """Ten equal launches of each, in the rounds of one run, would be enough if measured."""
    run = tree()
    simulate(run.path)
    comparison = between(*sides(run))
    assert comparison.rows
    assert {row.status for row in comparison.rows} == {Status.NO_CLAIM}
    notes = " ".join(model.notes(comparison))
    assert "simulated, which gives the same values each time: nothing is tested" in notes
    assert "roundtrip ab" not in notes


@pytest.mark.nightly
def test_what_simulated_both_sides_is_named_if_it_differs(tree: Tree, between: Between) -> None:
    one, other = tree("one"), tree("other", LATER)
    simulate(one.path)
    simulate(other.path, simgrid="4.1", platform="hdr", host_flops=1e10)
    comparison = between(one.path, other.path)
    differences = {fact.name: (fact.base, fact.new) for fact in comparison.facts if fact.differs}
    assert differences["simulated: version of SimGrid"] == ("3.32", "4.1")
    assert differences["simulated: platform"] == ("odin", "hdr")
    assert differences["simulated: host speed, flop/s"] == ("1000000000.0", "10000000000.0")
    measurement = between(tree("third").path, tree("fourth", LATER).path)
    assert not [fact for fact in measurement.facts if fact.name.startswith("simulated")]


def test_what_one_night_lacks_is_removed_or_added(tree: Tree, between: Between) -> None:
    comparison = between(tree("one").path, tree("other", LATER, environs=(OPENMPI, THIRD)).path)
    assert [case.toolchain for case in comparison.removed] == [MPICH]
    assert comparison.lost == () and comparison.exit_status == 1
    assert [case.toolchain for case in comparison.added] == [THIRD]
    assert {row.series.base.toolchain for row in comparison.rows} == {OPENMPI}


def test_a_case_that_the_new_side_never_completed_fails(tree: Tree, between: Between) -> None:
    run = tree()
    other, rng = replace(run, mode="stream"), np.random.default_rng(1)
    for number in range(1, 11):
        other.write_launch(number, OPENMPI, rng)
    lost = between(*sides(run), fail_on=0.9)
    assert (len(lost.removed), lost.added, lost.exit_status) == (1, (), 1)
    assert model.summary(lost).endswith("; 1 case of one side alone")
    assert "the other side completed no launch of it" in " ".join(model.notes(lost))
    gained = between(*sides(run, MPICH, OPENMPI), fail_on=0.9)
    assert (gained.removed, len(gained.added), gained.exit_status) == ((), 1, 0)
    assert replace(gained, is_sequential=True).exit_status == 1


def test_boosts_are_matched_by_their_mpi(tree: Tree, between: Between) -> None:
    run = tree(environs=(OPENMPI, MPICH, THIRD, "mpich50-boost174"))
    change_all(run, "run.json", "mpich*", mpi={"library": "MPICH 4"})
    for environ in (THIRD, "mpich50-boost174"):
        change_all(run, "run.json", environ, boost="1.74.0")
    comparison = between(f"{run.path}:boost=1.81", f"{run.path}:boost=1.74")
    pairs = {(row.series.base.toolchain, row.series.new.toolchain) for row in comparison.rows}
    assert pairs == {(OPENMPI, THIRD), (MPICH, "mpich50-boost174")}
    assert all(row.series.point.what.startswith("Boost") for row in comparison.rows)
    assert Fact("Boost", "1.81.0", "1.74.0") in comparison.facts


def test_sites_are_matched_by_their_cases(tree: Tree, between: Between) -> None:
    one, other = tree("one"), tree("other", LATER)
    change_all(other, "case.json", system="elsewhere")
    comparison = between(one.path, other.path)
    assert {row.series.new.site for row in comparison.rows} == {"elsewhere"}
    notes = " ".join(model.notes(comparison))
    assert "different sites, local and elsewhere" in notes
    assert "Two sites are never interleaved" in notes


def test_provenance_says_what_differs(tree: Tree, between: Between) -> None:
    one, other = tree("one"), tree("other", LATER)
    with content(other.path / "env" / "host.json") as host:
        host["system"]["kernel"] = "6.12.0"
        host["load_average"] = [9]
    places = [{"rank": rank, "host": "n2", "cpus": [5]} for rank in (0, 1)]
    change_all(other, "run.json", placement=places, hosts=["n2"])
    comparison = between(one.path, other.path)
    shown = model.facts_to_show(comparison, False)
    differences = {fact.name: (fact.base, fact.new) for fact in shown}
    assert differences.pop("nodes")[0] != ""
    assert differences == {
        "system kernel": ("6.1.0-40-amd64", "6.12.0"),
        "binding": ("rank 0: 0; rank 1: 1", "rank 0: 5; rank 1: 5"),
    }
    fact_names = {fact.name for fact in model.facts_to_show(comparison, True)}
    assert {"compiler", "flags", "Boost", "MPI library", "Spack hash"} <= fact_names


@pytest.mark.parametrize(
    ("spec", "choice", "shown"),
    [
        ("zyxwvuts", "zyxw", "zyxwvuts"),
        ("", "not recorded", "not recorded"),
        (None, "not recorded", "not recorded"),
    ],
)
def test_a_spack_hash_chooses_a_side(
    tree: Tree, between: Between, spec: Any, choice: str, shown: str
) -> None:
    run = tree()
    specs = {OPENMPI: "abcdefgh", MPICH: spec}
    toolchains = {name: {"reframe": {"extras": {"spec": specs[name]}}} for name in specs}
    (run.path / "env" / "toolchains.json").write_text(json.dumps(toolchains))
    comparison = between(f"{run.path}:spack=abcd", f"{run.path}:spack={choice}")
    assert comparison.exit_status == 1
    assert Fact("Spack hash", "abcdefgh", shown) in comparison.facts


def test_a_sequential_run_is_judged_by_the_sequential_test(tree: Tree, between: Between) -> None:
    run = tree()
    file = run.path / "campaign.toml"
    fixed_comparison = between(*sides(run))
    file.write_text("sequential = true\n" + file.read_text())
    run.path = run.path.rename(run.path.with_name("sequential"))
    sequential_comparison = between(*sides(run))
    assert sequential_comparison.is_sequential and not fixed_comparison.is_sequential
    assert "valid at whatever round" in " ".join(model.notes(sequential_comparison))
    verdicts = {model.describe_series(row): row.verdict for row in sequential_comparison.rows}
    for row in fixed_comparison.rows:
        assert verdicts[model.describe_series(row)] != row.verdict


def test_a_source_is_not_compared_with_itself(tree: Tree, between: Between) -> None:
    path = tree().path
    with pytest.raises(UserError, match="are the same"):
        between(path, path)


def test_launches_are_not_compared_with_themselves(tree: Tree, between: Between) -> None:
    path = tree().path
    complaint = f"share launches, such as those of NetPIPE, .* with {MPICH}: choose sides"
    for base in (f"{path}", f"{path}:mpi=Open MPI"):
        with pytest.raises(UserError, match=complaint):
            between(base, f"{path}:toolchain={MPICH}")


@pytest.mark.parametrize(
    ("status", "words"),
    [(Status.ON_PAR, "on par"), (Status.OPEN, "open: 4 give no interval; 7 would")],
)
def test_the_outcome_of_an_open_claim_says_what_would_do(status: Status, words: str) -> None:
    interval = SimpleNamespace(exists=False)
    verdict = SimpleNamespace(interval=interval, words="open: 4 give no interval; 7 would")
    row = SimpleNamespace(verdict=verdict, status=status, ratios_missing=None)
    assert model.describe_outcome(row) == words  # type: ignore[arg-type]


def watch(run: Any, **options: Any) -> tuple[Watch, list[str]]:
    for session in sorted(run.path.glob("rounds/*")):
        records.write_round_number(session, int(session.name))
    file = run.path / "campaign.toml"
    file.write_text("sequential = true\n" + file.read_text())
    messages: list[str] = []
    return Watch(run.path, OPENMPI, MPICH, messages.append, **options), messages


def test_a_run_stops_when_decided(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=20), fail_on=0.02)
    result = run_watch.compare()
    assert result.is_sequential
    assert run_watch.pairs == 20
    open_count = sum(row.status is Status.OPEN for row in result.rows)
    assert run_watch.should_stop() is (open_count == 0)
    (line,) = messages
    decided_count = len(result.rows) - open_count
    assert line.startswith(f"round 20: {decided_count} of {len(result.rows)} decided")


def test_of_many_open_claims_the_first_are_named(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=6, steady=False, seed=3), fail_on=0.001)
    assert not run_watch.should_stop()
    assert re.search(r"; open: .* more rounds?, .*; \d+ more$", messages[0])


def test_nothing_is_said_before_it_can_be(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=5))
    assert not run_watch.should_stop()
    assert messages == []


def test_a_side_that_never_comes_back_ends_the_run(tree: Tree) -> None:
    run_watch, messages = watch(tree(launches=5, environs=(OPENMPI,)))
    assert [run_watch.should_stop() for _ in range(4)] == [False, False, False, True]
    assert messages == ["no round launched both in the last 3: stopping"]
    with pytest.raises(UserError, match=f"no launch with toolchain={MPICH}"):
        run_watch.compare()


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        (None, "too few rounds to say how many more"),
        (1, "about 1 more round, 2 launches"),
        (200, "about 200 more rounds, 400 launches"),
        (201, "more than 200 more rounds"),
    ],
)
def test_what_an_open_claim_lacks_is_said(tree: Tree, rounds: int | None, words: str) -> None:
    run_watch, _ = watch(tree(launches=6, steady=False, seed=3), fail_on=0.001)
    result = run_watch.compare()
    row = next(row for row in result.rows if row.status is Status.OPEN)
    open_result = replace(result, rows=(replace(row, ratios_missing=rounds),))
    assert not comparison.is_decided(open_result)
    assert comparison.describe_status(open_result, 6).endswith(f"({words})")
