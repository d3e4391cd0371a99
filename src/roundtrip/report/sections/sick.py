"""What is sick: launches that did not come back, disturbed launches, nodes that stand out."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from scipy import stats

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.report.data import Data

QUESTION = "What is sick?"


def answers(data: Data) -> tuple[Answer, ...]:
    """One line for each thing that is wrong; one that says so where nothing is."""
    found = tuple(_faults(data))
    return found or (Answer(("Every launch came back, and none was disturbed.",), "good"),)


def _faults(data: Data) -> Iterator[Answer]:
    counts = dict(data.launches.group_by("status").len().iter_rows())
    passed = counts.get("passed", 0)
    if missing := counts.get("missing", 0):
        told = units.plural(missing, "expected launch", "expected launches")
        yield Answer((Strong("Incomplete: "), f"{told} missing."), "bad")
    if failed := counts.get("failed", 0):
        attempts = units.plural(failed, "attempt", "attempts")
        yield Answer((Strong("Failed: "), f"{attempts} at a launch."), "bad")
    disturbed = int(data.launches["disturbed"].fill_null(False).sum())
    if disturbed:
        told = f"{units.plural(disturbed, 'launch', 'launches')} of {passed}"
        yield Answer((Strong("Disturbed: "), told, "; kept and marked."), "warn")
    level = data.analysis.statistics.false_discovery_level
    for host, (mine, count), (others, rest) in nodes(data.launches, level):
        text = f"{mine} of {count} launches on it were disturbed, {others} of {rest} elsewhere."
        yield Answer((Strong(f"{host} stands out: "), text), "bad")


def nodes(
    launches: pl.DataFrame, level: float
) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Nodes whose launches are disturbed more often than those elsewhere.

    By Fisher's exact test, one-sided, at `level` over the number of nodes (Bonferroni).  Each with
    (disturbed, all) launches on it and elsewhere.
    """
    passed = launches.filter(pl.col("status") == "passed").drop_nulls(["hosts", "disturbed"])
    hosts = sorted({host for all_ in passed["hosts"] for host in all_ if host})
    found = []
    for host in hosts:
        here = passed["hosts"].list.contains(host)
        both = [
            (int(part["disturbed"].sum()), part.height)
            for part in (passed.filter(here), passed.filter(~here))
        ]
        table = [(bad, all_ - bad) for bad, all_ in both]
        if stats.fisher_exact(table, alternative="greater").pvalue * len(hosts) < level:
            found.append((host, *both))
    return found
