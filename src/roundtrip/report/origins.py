"""Which series of the history the values of a report are, so that a number can lead to its nights.

The history page of a published night has every series that a launch of it measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.collect.night_rows import SERIES
from roundtrip.report.pages import series


class Origins:
    """The series of launch medians, columns `MEDIANS`, each with its key on the history page."""

    def __init__(self, medians: pl.DataFrame) -> None:
        self._medians = medians
        self._at: dict[tuple[str, int], list[tuple[dict[str, Any], str]]] = defaultdict(list)
        keys = []
        for names in medians.select(*SERIES).unique().iter_rows(named=True):
            keys.append(series.key(names))
            self._at[names["case_id"], names["size_bytes"]].append((names, keys[-1]))
        self.keys = frozenset(keys)

    def key(self, cases: Collection[str], size_bytes: int, **names: str) -> str:
        """The key of the one series of these case ids with these `names`, columns of `SERIES`.

        "" if there is none, or if there are several, so that the value is of no single one.
        """
        found = [
            key
            for case in cases
            for known, key in self._at.get((case, size_bytes), ())
            if names.items() <= known.items()
        ]
        return found[0] if len(found) == 1 else ""

    @cached_property
    def values(self) -> Mapping[str, tuple[Mapping[str, Any], list[float]]]:
        """By key: the names of a series, columns `SERIES`, and its medians in their raw unit."""
        rows = self._medians.group_by(*SERIES).agg("median").iter_rows(named=True)
        return {series.key(row): (row, row.pop("median")) for row in rows}
