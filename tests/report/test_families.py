"""Which claims are tested together, and what a report of too few launches says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.bundles import read_tree

from roundtrip import studies
from roundtrip.measure import analysis, outcome
from roundtrip.report import units
from roundtrip.report.blocks import Items, Part, Report, Table, plain_text
from roundtrip.report.build import build
from roundtrip.stats.verdicts import Family
from roundtrip.studies.section import section_of
from roundtrip.studies.study import PlannedCase

Maker = Callable[..., Any]
OPENMPI, MPICH = "openmpi41-boost181", "mpich40-boost181"


def part(report: Report, anchor: str) -> Part:
    (section_part,) = [part for part in report.parts if part.anchor == anchor]
    return section_part


def cells(report: Report, anchor: str = "netpipe") -> list[str]:
    tables = [block for block in part(report, anchor).blocks if isinstance(block, Table)]
    return [cell.verdict for table in tables for row in table.rows for cell in row]


def notices(report: Report) -> str:
    return " ".join(map(plain_text, report.notices))


def family_rows(report: Report) -> dict[str, list[str]]:
    (table,) = [b for b in part(report, "claims").blocks if isinstance(b, Table)]
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_the_primary_claims_are_those_that_were_planned(make_tree: Maker) -> None:
    """What the plan counts from the declared cases is what the report finds in the data."""
    tree = make_tree(launches=9, environs=(OPENMPI, MPICH))
    section = section_of(studies.get("netpipe"), read_tree(tree))
    assert section is not None
    claim_counts = Counter(claim.family for claim in section.claims())
    cases = [
        PlannedCase(
            item["case"],
            "netpipe",
            "NetPIPE",
            "local:smp",
            item["case"].split("+")[1],
            {"mode": "pingpong", "placement": "shared-memory", "variants": "five"},
        )
        for item in tree.expected
    ]
    planned_claims = outcome.primary_claims(cases, analysis.default())
    assert claim_counts[Family.PRIMARY] == sum(claim.count for claim in planned_claims) == 8
    assert claim_counts[Family.SECONDARY] == 2 * 4 * 4


def test_families_are_shown_with_their_numbers(make_tree: Maker) -> None:
    report = build(read_tree(make_tree(launches=9, environs=(OPENMPI,))))
    assert dict(report.provenance)["Claims tested"] == "4 primary, 16 secondary"
    rows = family_rows(report)
    assert rows["Primary"][:4] == ["4", "9", "8", "any one"]
    assert rows["Secondary"][:4] == ["16", "9", "10", "2 at once"]
    (items,) = [b for b in part(report, "claims").blocks if isinstance(b, Items)]
    text = "".join(map(plain_text, items.items))
    assert "Boost.MPI against raw MPI, plain, in ping-pong" in text


def test_a_bundle_cut_to_six_launches_says_that_they_are_too_few(make_tree: Maker) -> None:
    """Serializing is tens of times slower in every launch: no "open" without the reason."""
    full_report = build(read_tree(make_tree("whole", launches=9, environs=(OPENMPI,), samples=12)))
    assert any("slower" in cell for cell in cells(full_report))
    assert "Too few launches" not in notices(full_report)

    report = build(read_tree(make_tree("cut", launches=6, environs=(OPENMPI,), samples=12)))
    undecided_cells = [cell for cell in cells(report) if "cannot reach the level" in cell]
    assert undecided_cells
    known_ranges, words = zip(*(cell.split(", ", 1) for cell in undecided_cells), strict=True)
    assert all("slower" in known_range for known_range in known_ranges)
    assert set(words) == {"open: 6 launches cannot reach the level among 16 claims; 10 would"}
    assert "Too few launches:" in notices(report)
    assert "a case had at most 6 launches, 10 would do" in notices(report)


def test_few_primary_claims_are_decided_whatever_secondary_ones_need(make_tree: Maker) -> None:
    """Eight launches, four primary claims: a cost of 60 ns in 310 ns is decided at 1 byte."""
    tree = make_tree(launches=8, environs=("openmpi50-boost181",), samples=20)
    report = build(read_tree(tree))
    (answer, *_) = part(report, "netpipe").answers
    text = plain_text(answer.text)
    assert text.startswith("Boost.MPI costs ") and f" at {units.size(1)}, " in text


@pytest.mark.parametrize("launches", [3, 5])
def test_without_an_interval_the_cell_has_the_number_needed(
    make_tree: Maker, launches: int
) -> None:
    report = build(read_tree(make_tree(launches=launches, environs=(OPENMPI,))))
    verdict = f"open: {launches} launches give no interval; 10 would"
    assert verdict in cells(report)
    assert family_rows(report)["Primary"][3] == "none"
