"""Toolchain against toolchain: which pairs, only in shared rounds, a winner only where found."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bundles import read_tree
from support.json_files import edit

from roundtrip.content.blocks import BulletList, ReportSection, Table, plain_text
from roundtrip.measure import records
from roundtrip.report import speeds
from roundtrip.report.build import build_report
from roundtrip.report.sections import rankings, toolchains
from roundtrip.report.speeds import Setting, ToolchainComparison
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict, judge
from roundtrip.study import Claim
from roundtrip.units import printable

OPENMPI, MPICH, THIRD = "openmpi41-boost181", "mpich40-boost181", "openmpi50-boost181"
FAST, SLOW = "Open MPI 4.1, Boost 1.81", "MPICH 4.0, Boost 1.81"
Maker = Callable[..., Any]


@pytest.fixture
def tree(make_tree: Maker) -> Any:
    """Half a round trip of 0.28 us with Open MPI, 0.36 with MPICH; ten rounds."""
    return make_tree(launches=10, steady=True, environs=(OPENMPI, MPICH))


def judged(tree: Any) -> tuple[ReportSection, Mapping[Claim, ClaimVerdict]]:
    bundle_data = read_tree(tree)
    section = toolchains.toolchains_section(bundle_data)
    assert section is not None
    claims = section.ratios_by_claim()
    verdicts = judge(claims, bundle_data.analysis.statistics, family=lambda claim: claim.family)
    return section.report_section(verdicts), verdicts


def pairs(verdicts: Mapping[Claim, ClaimVerdict]) -> set[tuple[str, str]]:
    return {(c.environ, c.base_environ) for c in verdicts if isinstance(c, ToolchainComparison)}


def rows(part: ReportSection) -> dict[str, list[str]]:
    tables = [block for block in part.blocks if isinstance(block, Table)]
    return {
        printable(row[1].text): [f"{cell.text} {cell.verdict}".strip() for cell in row]
        for table in tables
        for row in table.rows
    }


def refusals(part: ReportSection) -> str:
    items = [block for block in part.blocks if isinstance(block, BulletList)]
    return " ".join(str(word) for item in items for text in item.items for word in text)


def move(tree: Any, environ: str, by: int) -> None:
    """Launches of `environ` move `by` rounds on: a block after the other."""
    for number in range(10, 0, -1):
        old = tree.launch_folder(number, environ).parent
        new = tree.path / "rounds" / f"{number + by:03d}" / "output" / "local" / "smp" / environ
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        tree.write_report(number + by, [tree.report_entry(number, environ, "pass")])
        tree.write_report(number, [tree.report_entry(number, OPENMPI, "pass")])


def test_the_faster_toolchain_is_named(tree: Any) -> None:
    part, verdicts = judged(tree)
    first = rows(part)["MPI, ping-pong, 1 B, µs"]
    ratio = next(cell for cell in first if "is faster" in cell)
    assert ratio.endswith(f"{FAST} is faster")
    assert first[-1].startswith("10 of 10, first in ")
    assert {claim.family for claim in verdicts} == {Family.TOOLCHAINS}
    (answer,) = part.panel_answers
    text = plain_text(answer.text)
    assert text.startswith(f"{SLOW} against {FAST}: of 12 comparisons, ")
    assert f"{FAST} is faster in " in text
    assert text.index("is faster in") < text.find("open") or "open" not in text


def test_the_base_is_named_and_its_value_stands_beside_the_ratio(tree: Any) -> None:
    part, _ = judged(tree)
    (table,) = [block for block in part.blocks if isinstance(block, Table)]
    names = [column.name for column in table.columns]
    assert names[2:5] == [SLOW, f"{FAST} (base)", "Ratio of speeds"]
    _, _, slow, fast, ratio, *_ = rows(part)["MPI, ping-pong, 1 B, µs"]
    values = [float(text.split()[0]) for text in (slow, fast, ratio)]
    assert values[:2] == pytest.approx([0.36, 0.28], rel=0.1)
    assert values[2] == pytest.approx(0.28 / 0.36, rel=0.05)


@pytest.mark.parametrize(
    ("failed_rounds", "is_in_twos", "ratios"), [((2, 5, 6), False, 7), ((3,), True, 4)]
)
def test_only_rounds_that_launched_both_count(
    tree: Any, failed_rounds: tuple[int, ...], is_in_twos: bool, ratios: int
) -> None:
    """Rounds in twos give one ratio, and none if one of them is lost."""
    if is_in_twos:
        file = tree.path / "campaign.toml"
        file.write_text(f"sequential = true\nabba_seed = 7\n{file.read_text()}")
    for number in failed_rounds:
        tree.fail_launch(number, MPICH, fail_phase="sanity")
    part, verdicts = judged(tree)
    start = f"{10 - len(failed_rounds)} of 10, "
    assert rows(part)["MPI, ping-pong, 1 B, µs"][-1].startswith(start)
    assert {verdict.interval.n for verdict in verdicts.values()} == {ratios}


def test_blocks_in_sequence_are_refused_with_the_reason(tree: Any) -> None:
    move(tree, MPICH, by=10)
    part, verdicts = judged(tree)
    assert not verdicts
    (answer,) = part.answers
    assert answer.text == ("No toolchains are compared: none ran one case in the same rounds.",)
    assert not (part.panel_answers or part.summary_tables)
    assert f"{SLOW} against {FAST}" in refusals(part)
    assert "no round launched both" in refusals(part)


def test_two_campaigns_put_into_one_tree_are_refused(tree: Any) -> None:
    """Rounds of the same numbers, a day later."""
    for number in range(1, 11):
        start_time = f"2026-11-22T07:{number:02d}:00Z"
        edit(tree.launch_folder(number, MPICH) / "run.json", start_time=start_time)
    part, verdicts = judged(tree)
    assert not verdicts
    assert "was not over when the next one began" in refusals(part)


def test_the_rounds_are_those_of_the_campaign_not_the_sessions(tree: Any) -> None:
    """Two sessions a round, one a toolchain."""
    move(tree, MPICH, by=10)
    for number in range(1, 11):
        records.write_round_number(tree.path / "rounds" / f"{number:03d}", number)
        records.write_round_number(tree.path / "rounds" / f"{number + 10:03d}", number)
    part, verdicts = judged(tree)
    assert {verdict.interval.n for verdict in verdicts.values()} == {10}
    assert not refusals(part)


@pytest.mark.parametrize(
    ("change", "quantities"),
    [
        ({"boost": "1.74.0"}, {"Boost.MPI, ping-pong", "Boost.MPI (Serialized), ping-pong"}),
        ({"mpi": {"library": "MPICH 4.0.2"}}, {"MPI, ping-pong"}),
    ],
)
def test_what_depends_on_the_difference_is_compared(
    tree: Any, change: dict[str, Any], quantities: set[str]
) -> None:
    tree.amend_json(f"{MPICH}/*/run.json", **change)
    _, verdicts = judged(tree)
    comparisons = [claim for claim in verdicts if isinstance(claim, ToolchainComparison)]
    assert {comparison.quantity for comparison in comparisons} == quantities


def test_toolchains_with_another_between_them_are_not_compared(make_tree: Maker) -> None:
    """Of MPI x Boost: each with its neighbours, none across."""
    tree = make_tree(launches=6, steady=True, environs=(OPENMPI, MPICH, THIRD))
    tree.amend_json(f"{MPICH}/*/run.json", mpi={"library": "MPICH 4.0.2"})
    tree.amend_json(f"{THIRD}/*/run.json", mpi={"library": "MPICH 4.0.2"}, boost="1.74.0")
    _, verdicts = judged(tree)
    assert pairs(verdicts) == {(MPICH, OPENMPI), (MPICH, THIRD)}


def test_one_toolchain_is_compared_with_none(make_tree: Maker) -> None:
    bundle_data = read_tree(make_tree(launches=6, environs=(OPENMPI,)))
    section = toolchains.toolchains_section(bundle_data)
    assert section and not section.ratios_by_claim()
    (answer,) = section.report_section({}).answers
    assert answer.text == (f"Only {bundle_data.launches['toolchain'][0]} was measured.",)
    parts = {part.anchor: part for part in build_report(bundle_data).sections}
    alone, *values = parts["toolchains"].answers
    assert alone == answer
    latency, peak = (plain_text(value.text) for value in values)
    assert re.fullmatch(r"Half-round-trip latency at 1.B: [\d.]+.µs[.]", latency)
    assert re.match(r"Peak bandwidth, ping-pong: \d", peak)


def test_emulated_values_say_so_in_every_row(make_tree: Maker) -> None:
    tree = make_tree(launches=6, steady=True, extras={"emulated": {"wan_rtt_ms": 2}})
    part, _ = judged(tree)
    assert all("EMULATED WAN: RTT 2 ms" in row[0] for row in rows(part).values())


def test_builds_called_alike_go_by_their_environments(tree: Any) -> None:
    tree.amend_json("case.json", extras={"toolchain": "My MPI"})
    part, _ = judged(tree)
    (answer,) = part.panel_answers
    title = f"My MPI ({MPICH}) against My MPI ({OPENMPI}): "
    assert plain_text(answer.text).startswith(title)


def test_the_page_counts_the_compared_pairs(
    make_tree: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speeds, "MAX_ENVIRONS_FOR_ALL_PAIRS", 2)
    monkeypatch.setattr(toolchains, "MAX_ENVIRONS_FOR_ALL_PAIRS", 2)
    part, verdicts = judged(make_tree(launches=6, steady=True, environs=(OPENMPI, MPICH, THIRD)))
    assert "3 toolchains have 3 pairs, of which " in refusals(part)
    assert f"of which {len(pairs(verdicts))} are compared" in refusals(part)
    assert "Up to 2 toolchains are compared in all pairs." in refusals(part)


def test_many_pairs_are_one_answer_that_counts_them(
    tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchains, "_MAX_ANSWERS", 0)
    [answer] = judged(tree)[0].panel_answers
    assert answer.text[-1] == "1 pairs of toolchains are compared below, by round."


SETTING = Setting("netpipe", "NetPIPE", "local:smp", "mode pingpong", "")
TITLES = {name: f"MPI {name}, Boost 1.81" for name in "abcdefghz"}
FASTER, SLOWER = Verdict.FASTER, Verdict.SLOWER
ON_PAR, UNKNOWN = Verdict.ON_PAR, Verdict.CANNOT_TELL


def raced(
    *pairs: tuple[str, Verdict, float],
    size: int | None = 1,
    what: str = "MPI",
    setting: Setting = SETTING,
) -> Any:
    verdicts = {}
    for pair, verdict, ratio in pairs:
        interval = Interval(ratio, None, None, 9)
        key = ToolchainComparison(setting, pair[0], pair[1], what, size)
        verdicts[key] = ClaimVerdict(interval, 0.01, 0.01, verdict)
    return verdicts


def merged(*parts: Any) -> Any:
    return {key: verdict for part in parts for key, verdict in part.items()}


def ranking(*parts: Any) -> Table:
    races = rankings.rank_toolchains(merged(*parts), {})
    (table,) = rankings.ranking_tables(races, TITLES)
    return table


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("ab", FASTER, 1.3)], ("MPI a", "30 % faster")),
        ([("ab", SLOWER, 0.5)], ("MPI b", "100 % faster")),
        ([("ab", ON_PAR, 1.01)], ("", "on par")),
        ([("ab", UNKNOWN, 1.6)], ("", "open")),
        ([("ab", FASTER, 1.3), ("ac", FASTER, 1.12), ("bc", UNKNOWN, 1)], ("MPI a", "12 % faster")),
        # Nobody found a faster than c.
        ([("ab", FASTER, 1.3), ("ac", UNKNOWN, 1.1), ("bc", ON_PAR, 1)], ("MPI a or MPI c", "open")),  # noqa: E501
        ([("ab", FASTER, 1.3), ("ac", ON_PAR, 1.0), ("bc", SLOWER, 0.8)], ("MPI a, MPI c", "on par")),  # noqa: E501
        # c was never compared with a: a leads, and has not won.
        ([("ab", FASTER, 1.3), ("bc", FASTER, 1.3)], ("MPI a", "open")),
        # Each is faster than the next: no order.
        ([("ab", FASTER, 1.3), ("bc", FASTER, 1.3), ("ac", SLOWER, 0.7)], ("", "open")),
    ],
)  # fmt: skip
def test_the_winner(pairs: list[tuple[str, Verdict, float]], expected: tuple[str, str]) -> None:
    ((what, boost, winner),) = ranking(raced(*pairs)).rows
    assert (what.text, boost.text) == ("MPI", "Boost 1.81")
    assert (winner.text, printable(winner.verdict)) == expected


def test_of_many_that_none_is_faster_than_a_few_are_named() -> None:
    verdicts = raced(*((f"{one}{other}", FASTER, 1.3) for one in "abcdefgh" for other in "z"))
    winners = " or ".join(f"MPI {name}" for name in "abcdef")
    assert ranking(verdicts).rows[0][2].text == f"{winners} or 2 more"


def test_races_that_no_comparison_joins_are_rows_of_their_own() -> None:
    two_races = rankings.rank_toolchains(raced(("ab", FASTER, 1.3), ("cd", UNKNOWN, 1.0)), {})
    assert [race.toolchains for race in two_races] == [("a", "b"), ("c", "d")]
    assert front(raced(("ab", FASTER, 1.3), ("cd", UNKNOWN, 1.0))) == [
        "MPI a is fastest in 1 of 2 comparisons: 30 % faster.",
        "The fastest toolchain is undecided in 1 of 2 comparisons.",
    ]
    is_open = "No toolchain is shown to be fastest: every comparison is open."
    assert front(raced(("ab", UNKNOWN, 1.0), ("cd", UNKNOWN, 1.0))) == [is_open]
    assert front() == []


def test_only_so_many_rows_stand_at_the_top_and_the_others_are_counted() -> None:
    verdicts = merged(*(raced(("ab", ON_PAR, 1.0), what=f"w{n}") for n in range(20)))
    (table,) = rankings.top_ranking_tables(rankings.rank_toolchains(verdicts, {}), TITLES)
    assert len(table.rows) == 8 and table.caption.endswith(" 12 more below.")
    assert len(ranking(verdicts).rows) == 20


def test_values_without_a_size_have_a_column() -> None:
    table = ranking(raced(("ab", ON_PAR, 1.0), size=None), raced(("ab", FASTER, 2.0), size=8))
    assert [printable(column.name) for column in table.columns[2:]] == ["All", "8 B"]


def test_rows_name_where_they_differ_and_a_size_of_their_own() -> None:
    settings = {
        app: replace(SETTING, parameters=f"app {app}, placement shared-memory, ranks {ranks}")
        for app, ranks in (("FFT", 2), ("LU", 4))
    }
    fft, lu = (
        raced(("ab", ON_PAR, 1.0), size=size, what=f"{app}, datatypes", setting=setting)
        for (app, setting), size in zip(settings.items(), (8, 16), strict=True)
    )
    table = ranking(fft, lu)
    assert [column.name for column in table.columns] == ["What", "With", "Fastest"]
    assert [printable(row[0].text) for row in table.rows] == [
        "FFT, datatypes, ranks 2 at 8 B",
        "LU, datatypes, ranks 4 at 16 B",
    ]


WAN = replace(
    SETTING, parameters="mode pingpong, wan_rtt 2", emulation_label="EMULATED WAN: RTT 2 ms"
)


def front(*parts: Any) -> list[str]:
    answers = rankings.ranking_answers(rankings.rank_toolchains(merged(*parts), {}), TITLES)
    return [printable(plain_text(answer.text)) for answer in answers]


def test_an_answer_names_the_setting_and_what_is_emulated() -> None:
    one, slower = raced(("ab", FASTER, 1.3)), raced(("ab", SLOWER, 0.7), setting=WAN)
    assert front(one, slower) == [
        "No overall winner: MPI a is fastest in 1 of 2 comparisons (in part EMULATED WAN: "
        "RTT 2 ms), MPI b in 1.",
        "MPI a is fastest for MPI at 1 B: 30 % faster.",
        "MPI b is fastest for MPI, wan_rtt 2, EMULATED WAN: RTT 2 ms at 1 B: 43 % faster.",
    ]
    emulated = [raced(("ab", FASTER, 1.3), what=f"w{number}", setting=WAN) for number in range(4)]
    places = "; ".join(f"w{n}, wan_rtt 2, EMULATED WAN: RTT 2 ms at 1 B" for n in range(3))
    everywhere = "MPI a is fastest everywhere ({}EMULATED WAN: RTT 2 ms): 30 % faster."
    assert front(*emulated) == [everywhere.format("")]
    assert front(*emulated, raced(("ab", SLOWER, 0.7))) == [
        "MPI a leads: fastest in 4 of 5 comparisons (in part EMULATED WAN: RTT 2 ms), MPI b in 1.",
        f"MPI a is fastest for {places}, and 1 more: 30 % faster.",
        "MPI b is fastest for MPI at 1 B: 43 % faster.",
    ]
    assert front(*emulated, raced(("ab", FASTER, 1.3))) == [everywhere.format("in part ")]


def test_races_of_more_ranks_than_processors_stand_apart() -> None:
    shared = replace(SETTING, parameters="placement oversubscribed")
    assert front(raced(("ab", FASTER, 1.3)), raced(("ab", SLOWER, 0.001), setting=shared)) == [
        "MPI a is fastest for MPI at 1 B: 30 % faster.",
        "More ranks than processors: MPI b is fastest for MPI at 1 B: 1 000 times as fast.",
    ]


def matrix(mpis: int, boosts: int) -> dict[str, tuple[str, str]]:
    pairs = [(f"m{m:03d}", f"b{b:03d}") for m in range(mpis) for b in range(boosts)]
    return {f"{mpi}-{boost}": (mpi, boost) for mpi, boost in pairs}


def compared(software: dict[str, tuple[str, str]]) -> set[tuple[str, str]]:
    all_software = set(software.values())
    all_pairs = speeds.compared_pairs(software)
    assert len(all_pairs) == len(set(all_pairs)) and all(one < other for one, other in all_pairs)
    return {
        (one, other)
        for one, other in all_pairs
        if speeds.compared_factors(software[one], software[other], all_software)
    }


def test_a_few_toolchains_are_compared_each_with_each() -> None:
    small_matrix = matrix(speeds.MAX_ENVIRONS_FOR_ALL_PAIRS, 1)
    assert len(compared(small_matrix)) == 32 * 31 // 2
    assert len(compared(matrix(8, 4))) == 4 * (8 * 7 // 2) + 8 * (4 * 3 // 2)


def test_of_many_each_is_compared_with_the_first_of_its_mpi_and_of_its_boost() -> None:
    large_matrix = matrix(20, 3)
    boost_pairs = {(f"m000-{boost}", name) for name, (_, boost) in large_matrix.items()}
    mpi_pairs = {(f"{mpi}-b000", name) for name, (mpi, _) in large_matrix.items()}
    own_pairs = {(name, name) for name in large_matrix}
    assert compared(large_matrix) == (boost_pairs | mpi_pairs) - own_pairs


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=33, max_size=300))
def test_of_many_none_is_left_out_and_the_claims_grow_no_faster_than_they(
    versions: list[tuple[int, int]],
) -> None:
    large_matrix = {f"{n:03d}": (f"m{mpi}", f"b{boost}") for n, (mpi, boost) in enumerate(versions)}
    all_pairs = compared(large_matrix)
    assert {name for pair in all_pairs for name in pair} == set(large_matrix)
    assert len(all_pairs) <= 3 * len(large_matrix)
