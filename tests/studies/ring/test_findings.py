"""What the verdicts at the compared sizes say together of a reason of the study."""

from __future__ import annotations

from itertools import product

import pytest

from roundtrip.measure import analysis
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import comparison, worst_tone
from roundtrip.studies.ring import STUDY, Thresholds
from roundtrip.studies.ring.curves import Panel
from roundtrip.studies.ring.findings import OUTCOME_TONES, Finding, reason_findings

F, S, P, U = Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL
MEASURED = " where measured (10 B to 10 kB)"
SETTINGS = analysis.default().study_thresholds(Thresholds)
PANEL = Panel(
    key=("Ring@x", "2"), toolchain="Open MPI", launches=10, shared_passes=2, network_passes=0
)
INTERVAL = Interval(1.0, 0.9, 1.1, 10)  # not looked at: only the verdict counts


def finding_of(verdicts: tuple[Verdict | None, ...]) -> Finding:
    """Of copying; a verdict for each compared size, None: not measured."""
    claim_verdicts = {
        comparison(STUDY, PANEL, "mpi-shm", "region", size): ClaimVerdict(
            INTERVAL, 0.0, 0.0, verdict
        )
        for size, verdict in zip(SETTINGS.compared_sizes, verdicts, strict=True)
        if verdict
    }
    (finding,) = reason_findings(PANEL, claim_verdicts, SETTINGS)
    return finding


@pytest.mark.parametrize(
    ("verdicts", "verdict", "sentence"),
    [  # at 10 B, 1 kB, 10 kB and 1 MB; None: not measured
        ((S, S, S, S), "holds", "holds"),
        ((S, S, S, None), f"holds{MEASURED}", f"holds{MEASURED}"),
        ((F, S, S, S), "holds in part", "holds from 1 kB on"),
        ((P, P, S, S), "holds in part", "holds from 10 kB on"),
        ((P, F, P, S), "holds in part", "holds from 1 MB on"),
        ((U, P, S, S), "holds in part", "holds from 10 kB on"),
        ((F, U, S, S), "holds in part", "holds at least from 10 kB on"),
        ((U, U, U, S), "holds in part", "holds at least from 1 MB on"),
        ((F, P, S, None), "holds in part", f"holds from 10 kB on{MEASURED}"),
        ((S, None, S, S), *["holds where measured (10 B, 10 kB, 1 MB)"] * 2),
        ((S, P, P, P), "holds in part", "holds in part"),
        ((S, P, S, S), "holds in part", "holds in part"),
        ((F, S, S, U), "holds in part", "holds in part"),
        ((S, U, U, F), "holds in part", "holds in part"),
        ((P, F, P, P), "does not hold", "does not hold"),
        ((P, F, P, None), f"does not hold{MEASURED}", f"does not hold{MEASURED}"),
        ((P, F, P, U), *["11 % slower to 10 % faster at 1 MB (open)"] * 2),
        ((U, U, U, U), *["11 % slower to 10 % faster (open)"] * 2),
    ],
)
def test_the_outcome_over_the_compared_sizes(
    verdicts: tuple[Verdict | None, ...], verdict: str, sentence: str
) -> None:
    finding = finding_of(verdicts)
    texts = [text.replace("\xa0", " ") for text in (finding.verdict, finding.sentence)]
    assert texts == [verdict, sentence]


def test_good_news_is_not_red_and_partial_evidence_is_not_green() -> None:
    assert finding_of((P, F, P, P)).tone == "plain"
    assert finding_of((S, S, S, S)).tone == "good"
    assert finding_of((S, S, S, None)).tone == finding_of((P, F, P, None)).tone == "warn"
    assert worst_tone([]) == "warn"


def test_it_is_open_only_if_no_size_shows_the_cost_and_one_is_undecided() -> None:
    for verdicts in product((F, S, P, U, None), repeat=len(SETTINGS.compared_sizes)):
        if any(verdicts):
            finding = finding_of(verdicts)
            assert finding.outcome in OUTCOME_TONES
            assert (finding.outcome == "open") == (S not in verdicts and U in verdicts)
