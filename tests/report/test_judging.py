"""A run whose launches went on until they decided enough is judged by the test that allows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.bundles import read_tree

from roundtrip.report import build
from roundtrip.report.blocks import Table
from roundtrip.report.data import Data
from roundtrip.report.speeds import ToolchainComparison, Toolchains
from roundtrip.stats import sequential, verdicts


@pytest.fixture
def read(make_tree: Callable[..., Any]) -> Callable[[bool], Data]:
    def make(is_sequential: bool) -> Data:
        tree = make_tree(f"run{is_sequential}", launches=9, steady=True)
        if is_sequential:
            file = tree.path / "campaign.toml"
            file.write_text("sequential = true\n" + file.read_text())
        return read_tree(tree)

    return make


@pytest.mark.parametrize(("is_sequential", "judge"), [(True, sequential), (False, verdicts)])
def test_the_campaign_says_which_test(
    read: Callable[[bool], Data], is_sequential: bool, judge: Any
) -> None:
    bundle_data = read(is_sequential)
    claims: dict[ToolchainComparison, list[float]] = {
        key: comparison.ratios for key, comparison in Toolchains(bundle_data).comparisons.items()
    }
    assert bundle_data.is_sequential is is_sequential
    assert claims
    assert build.judge(bundle_data, claims) == judge.judge(claims, bundle_data.analysis.statistics)


def test_the_report_says_so_and_keeps_its_own_rules(read: Callable[[bool], Data]) -> None:
    report = build.build(read(True))
    assert "Sequential: " in {getattr(notice[0], "text", "") for notice in report.notices}
    (claims_part,) = [part for part in report.parts if part.anchor == "claims"]
    (table,) = [block for block in claims_part.blocks if isinstance(block, Table)]
    names = [column.name for column in table.columns]
    assert names == ["Family", "Claims", "Launches", "Verdicts"]
    (audit,) = [part for part in report.parts if "audit" in part.anchor]
    text = str(audit.blocks)
    assert "are not those of Benjamini-Hochberg" not in text
    assert "do not follow from interval and q" not in text
    plain_report = build.build(read(False))
    assert "Sequential: " not in {getattr(notice[0], "text", "") for notice in plain_report.notices}


@pytest.mark.parametrize("is_sequential", [True, False])
def test_a_claim_is_held_to_the_margin_of_its_study(
    read: Callable[[bool], Data], is_sequential: bool
) -> None:
    bundle_data = read(is_sequential)
    key, *_ = Toolchains(bundle_data).comparisons
    claims = {key: 5 * [0.9, 1.1, 0.95, 1.06, 0.97, 1.02]}
    levels = bundle_data.analysis.statistics
    own_levels = levels.model_copy(update={"equivalence_margins": ((key.setting.study, 0.5),)})
    settings = replace(bundle_data.analysis, statistics=own_levels)
    (verdict,) = build.judge(replace(bundle_data, analysis=settings), claims).values()
    (common_verdict,) = build.judge(bundle_data, claims, levels).values()
    assert verdict.verdict is verdicts.Verdict.ON_PAR
    assert verdict.interval == common_verdict.interval
