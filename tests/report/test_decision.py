"""Whether a run decides anything, and how many launches would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.bundles import read_tree

from roundtrip.report import build
from roundtrip.stats.summaries import Interval, median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict

Maker = Callable[..., Any]
ENVIRON = "openmpi41-boost181"


def judged(
    values: int, launches_needed: int | None, verdict: Verdict = Verdict.CANNOT_TELL
) -> ClaimVerdict:
    interval: Interval = median_interval([1.1] * values, 0.95)
    return ClaimVerdict(interval, 1.0, 1.0, verdict, 20, launches_needed)


def why(tree: Any) -> str | None:
    bundle_data = read_tree(tree)
    return build.undecided_reason(bundle_data, build.judge_report(bundle_data))


@pytest.mark.parametrize(
    ("values", "launches_needed", "launches", "advice"),
    [
        (6, 11, 6, "a case had at most 6 launches, 11 would do"),
        (1, 7, 1, "a case had at most 1 launch, 7 would do"),
        # Eleven values are needed, and six of fourteen launches have one.
        (6, 11, 14, "a case had at most 14 launches, 26 would do"),
        (14, None, 14, ""),
    ],
)
def test_the_advice_counts_the_launches_that_were_made(
    values: int, launches_needed: int | None, launches: int, advice: str
) -> None:
    assert build.launches_advice([judged(values, launches_needed)], launches) == advice


def test_the_claim_that_lacks_most_decides() -> None:
    claims = [judged(14, None), judged(7, 11), judged(10, 14)]
    assert build.launches_needed(claims, 14) == 22
    assert build.launches_needed([judged(14, None)], 14) is None


def test_a_run_with_a_verdict_decides(make_tree: Maker) -> None:
    assert why(make_tree(launches=9, environs=(ENVIRON,))) is None


def test_a_run_of_few_launches_does_not_and_says_so_on_its_page(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    reason = why(tree)
    assert reason is not None
    assert reason.startswith("none of 20 claims has a verdict: a case had at most 3 launches, ")
    report = build.build(read_tree(tree))
    assert f"{reason}." in [word for notice in report.notices for word in notice]


def test_a_run_whose_launches_were_all_disturbed_does_not(make_tree: Maker) -> None:
    tree = make_tree(launches=9, environs=(ENVIRON,))
    tree.amend("run.json", disturbance={"throttled_s": [2.0, 2.0], "duration_s": [4.0, 4.0]})
    reason = why(tree)
    assert reason is not None
    assert reason.startswith(
        "all 9 launches were disturbed, the first by this: throttled: the CPU "
    )
    assert "`roundtrip doctor`" in reason


def test_launches_without_a_claim_decide_nothing(make_tree: Maker) -> None:
    bundle_data = read_tree(make_tree(launches=1, environs=(ENVIRON,)))
    assert build.undecided_reason(bundle_data, {}) == build.NO_CLAIM_REASON
