"""What a run decides: by which test, in which families, and how many launches it takes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.bundles import read_tree

from roundtrip import units
from roundtrip.content.blocks import BulletList, Report, ReportSection, Table, plain_text
from roundtrip.content.data import BundleData
from roundtrip.measure import analysis, outcome
from roundtrip.report import build
from roundtrip.report.speeds import ComparedToolchains, ToolchainComparison
from roundtrip.stats import sequential, verdicts
from roundtrip.stats.summaries import Interval, median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict
from roundtrip.studies.section import find_section
from roundtrip.study import PlannedCase, get_study

Maker = Callable[..., Any]
ENVIRON, MPICH = "openmpi41-boost181", "mpich40-boost181"


def judged(
    values: int, launches_needed: int | None, verdict: Verdict = Verdict.CANNOT_TELL
) -> ClaimVerdict:
    interval: Interval = median_interval([1.1] * values, 0.95)
    return ClaimVerdict(interval, 1.0, 1.0, verdict, 20, launches_needed)


def why(tree: Any) -> str | None:
    bundle_data = read_tree(tree)
    return build.undecided_reason(bundle_data, build.judge_report_claims(bundle_data))


@pytest.mark.parametrize(
    ("values", "launches_needed", "launches", "advice"),
    [
        (6, 11, 6, "a case had at most 6 launches and needs 11"),
        (1, 7, 1, "a case had at most 1 launch and needs 7"),
        # Eleven values are needed, and six of fourteen launches have one.
        (6, 11, 14, "a case had at most 14 launches and needs 26"),
        (14, None, 14, ""),
    ],
)
def test_the_advice_counts_the_launches_that_were_made(
    values: int, launches_needed: int | None, launches: int, advice: str
) -> None:
    assert build.describe_launches_needed([judged(values, launches_needed)], launches) == advice
    # The claim that lacks most decides.
    claims = [judged(14, None), judged(7, 11), judged(10, 14)]
    assert build.launches_needed_per_case(claims, 14) == 22
    assert build.launches_needed_per_case([judged(14, None)], 14) is None


def test_a_run_of_few_launches_does_not_and_says_so_on_its_page(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    reason = why(tree)
    start = "none of 20 claims has a verdict: a case had at most 3 launches and needs "
    assert reason is not None and reason.startswith(start)
    report = build.build_report(read_tree(tree))
    assert f"{reason}." in [word for notice in report.notices for word in notice]
    assert "open: 3 launches give no interval; 10 would" in cells(report)
    assert family_rows(report)["Primary"][3] == "none"


def test_a_run_whose_launches_were_all_disturbed_does_not(make_tree: Maker) -> None:
    tree = make_tree(launches=9, environs=(ENVIRON,))
    tree.amend_json("run.json", disturbance={"throttled_s": [2.0, 2.0], "duration_s": [4.0, 4.0]})
    reason = why(tree) or ""
    start = "all 9 launches were disturbed, the first: throttled: the CPU "
    assert reason.startswith(start) and "`roundtrip doctor`" in reason


def test_launches_without_a_claim_decide_nothing(make_tree: Maker) -> None:
    bundle_data = read_tree(make_tree(launches=1, environs=(ENVIRON,)))
    assert build.undecided_reason(bundle_data, {}) == build.NO_CLAIM_REASON


@pytest.fixture
def read(make_tree: Maker) -> Callable[[bool], BundleData]:
    def make(is_sequential: bool) -> BundleData:
        tree = make_tree(f"run{is_sequential}", launches=9, steady=True)
        if is_sequential:
            file = tree.path / "campaign.toml"
            file.write_text("sequential = true\n" + file.read_text())
        return read_tree(tree)

    return make


@pytest.mark.parametrize(("is_sequential", "judge"), [(True, sequential), (False, verdicts)])
def test_the_campaign_says_which_test_and_the_study_its_margin(
    read: Callable[[bool], BundleData], is_sequential: bool, judge: Any
) -> None:
    bundle_data = read(is_sequential)
    assert bundle_data.is_sequential is is_sequential
    comparisons = ComparedToolchains(bundle_data).comparisons
    claims: dict[ToolchainComparison, list[float]] = {
        key: comparison.ratios for key, comparison in comparisons.items()
    }
    levels = bundle_data.analysis.statistics
    assert build.judge_claims(bundle_data, claims) == judge.judge(claims, levels)
    levels = levels.model_copy(update={"equivalence_margins": (("netpipe", 0.5),)})
    settings = replace(bundle_data.analysis, statistics=levels)
    claims = {next(iter(claims)): 5 * [0.9, 1.1, 0.95, 1.06, 0.97, 1.02]}
    (verdict,) = build.judge_claims(replace(bundle_data, analysis=settings), claims).values()
    assert verdict.verdict is Verdict.ON_PAR


def part(report: Report, anchor: str) -> ReportSection:
    (section_part,) = [part for part in report.sections if part.anchor == anchor]
    return section_part


def notices(report: Report) -> str:
    return " ".join(map(plain_text, report.notices))


def test_the_report_says_so_and_keeps_its_own_rules(read: Callable[[bool], BundleData]) -> None:
    report = build.build_report(read(True))
    assert "Sequential: " in notices(report)
    (table,) = part(report, "claims").tables
    names = [column.name for column in table.columns]
    assert names == ["Family", "Claims", "Launches", "Verdicts"]
    text = str(part(report, "audit").blocks)
    assert "are not those of Benjamini-Hochberg" not in text
    assert "do not follow from interval and q" not in text
    assert "Sequential: " not in notices(build.build_report(read(False)))


def cells(report: Report) -> list[str]:
    tables = [block for block in part(report, "netpipe").blocks if isinstance(block, Table)]
    return [cell.verdict for table in tables for row in table.rows for cell in row]


def family_rows(report: Report) -> dict[str, list[str]]:
    (table,) = part(report, "claims").tables
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_the_primary_claims_are_those_that_were_planned(make_tree: Maker) -> None:
    """What the plan counts from the declared cases is what the report finds in the data."""
    tree = make_tree(launches=9, environs=(ENVIRON, MPICH))
    section = find_section(get_study("netpipe"), read_tree(tree))
    assert section is not None
    claim_counts = Counter(claim.family for claim in section.ratios_by_claim())
    names, parameters = ("netpipe", "NetPIPE", "local:smp"), {"mode": "pingpong"}
    parameters |= {"placement": "shared-memory", "variants": "five"}
    ids = [item["case"] for item in tree.expected]
    cases = [PlannedCase(case, *names, case.split("+")[1], parameters) for case in ids]
    planned_claims = outcome.primary_claims(cases, analysis.default_settings())
    assert claim_counts[Family.PRIMARY] == sum(claim.count for claim in planned_claims) == 8
    assert claim_counts[Family.SECONDARY] == 2 * 4 * 4


def test_a_run_with_verdicts_decides_and_shows_its_families_with_their_numbers(
    make_tree: Maker,
) -> None:
    tree = make_tree(launches=9, environs=(ENVIRON,))
    assert why(tree) is None
    report = build.build_report(read_tree(tree))
    assert dict(report.provenance_facts)["Claims tested"] == "4 primary, 16 secondary"
    rows = family_rows(report)
    assert rows["Primary"][:4] == ["4", "9", "8", "any one"]
    assert rows["Secondary"][:4] == ["16", "9", "10", "2 at once"]
    (items,) = [b for b in part(report, "claims").blocks if isinstance(b, BulletList)]
    text = "".join(map(plain_text, items.items))
    assert "Boost.MPI against raw MPI, plain, in ping-pong" in text


def test_a_bundle_cut_to_six_launches_says_that_they_are_too_few(make_tree: Maker) -> None:
    """Serializing is tens of times slower in every launch: no "open" without the reason."""
    full_tree = make_tree("whole", launches=9, environs=(ENVIRON,), samples=12)
    full_report = build.build_report(read_tree(full_tree))
    assert any("slower" in cell for cell in cells(full_report))
    assert "Too few launches" not in notices(full_report)

    cut_tree = make_tree("cut", launches=6, environs=(ENVIRON,), samples=12)
    report = build.build_report(read_tree(cut_tree))
    undecided_cells = [cell for cell in cells(report) if "cannot reach the level" in cell]
    assert undecided_cells
    known_ranges, words = zip(*(cell.split(", ", 1) for cell in undecided_cells), strict=True)
    assert all("slower" in known_range for known_range in known_ranges)
    assert set(words) == {"open: 6 launches cannot reach the level among 16 claims; 10 would"}
    assert "Too few launches:" in notices(report)
    assert "a case had at most 6 launches and needs 10" in notices(report)


def test_few_primary_claims_are_decided_whatever_secondary_ones_need(make_tree: Maker) -> None:
    """Eight launches, four primary claims: a cost of 60 ns in 310 ns is decided at 1 byte."""
    tree = make_tree(launches=8, environs=("openmpi50-boost181",), samples=20)
    report = build.build_report(read_tree(tree))
    (answer, *_) = part(report, "netpipe").answers
    text = plain_text(answer.text)
    assert text.startswith("Boost.MPI costs ") and f" at {units.size_text(1)}, " in text
