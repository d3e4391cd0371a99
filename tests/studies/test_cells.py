"""Cells of verdicts: what they say, and in which tone."""

from __future__ import annotations

from roundtrip.collect import analysis
from roundtrip.stats.verdicts import Verdict, judge
from roundtrip.studies import cells

FASTER = judge({"one": [2.0 + 0.01 * k for k in range(9)]}, analysis.default().statistics)["one"]


def test_a_verdict_speaks_for_itself_or_in_the_words_of_the_study() -> None:
    tones = {Verdict.FASTER: "good"}
    own = cells.judged(FASTER, tones, series="key")
    assert own.text.startswith("2.04 [") and own.series == "key"
    assert (own.verdict, own.tone) == ("faster", "good")
    assert cells.judged(FASTER, words="holds").verdict == "holds"
    assert cells.judged(FASTER).tone == "plain"
    assert cells.judged(None, words="holds") == cells.NOT_MEASURED
