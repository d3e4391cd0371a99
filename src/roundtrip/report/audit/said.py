"""How times were taken: what launches say, or else what the section of the report declares."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from roundtrip.report import units
from roundtrip.report.audit.subject import Subject

#: By what run.json says in `timing`: the fact that a section declares, a clause for each word.
_CLAUSES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "clock": (
        "clock",
        {
            "one rank": "one rank reads its own clock",
            "each rank": "each rank reads its own clock",
            "several": "some samples are timed by one rank, others by each",
        },
    ),
    "synchronisation": (
        "synchronised",
        {
            "barrier": "a barrier before each sample",
            "message": "a message between two ranks before each sample",
            "none": "ranks are not synchronised",
            "several": "some samples begin with a synchronisation, others without",
        },
    ),
    "over_ranks": (
        "over_ranks",
        {
            "one rank": "the time of one rank is the sample",
            "maximum": "the time of the slowest rank is the sample",
            "several": "the time of one rank is the sample, or that of the slowest",
        },
    ),
    "cache": (
        "cache",
        {"warm": "warm", "flushed": "flushed", "several": "warm in some series, flushed in others"},
    ),
}


def clause(one: Subject, name: str) -> str:
    """For the reader, of an entry of `timing`; "" if neither launches nor section tell."""
    declared, words = _CLAUSES[name]
    told = one.launches[f"timing_{name}"]
    found = [words[word] for word in words if (told == word).any()]
    if not found:
        return str(getattr(one.facts, declared))
    silent = told.null_count()
    unsaid = f", {units.plural(silent, 'launch', 'launches')} not saying" if silent else ""
    return " or ".join(found) + unsaid


def unsynchronised(one: Subject) -> int:
    """Launches that take the slowest rank's time though no rank waits for the others."""
    lone = (pl.col("timing_over_ranks") == "maximum") & (pl.col("timing_synchronisation") == "none")
    return one.launches.filter(lone).height
