"""A study whose room has its modules where every room has them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roundtrip.studies.planned import PlannedCase, PlannedClaims
from roundtrip.studies.study import Figure, Section, Study, with_units

if TYPE_CHECKING:
    import polars as pl

    from roundtrip.collect.analysis import Analysis
    from roundtrip.report.data import Data
    from roundtrip.studies.facts import Facts


class Room(Study):
    """Carries out a study's methods by four modules beside the class, each with the function of
    the method's name: ``derived`` has `summary`, and `SUMMARY_UNITS` by the figure's name;
    ``planned`` has `primary_claims` and `speeds`; ``section`` has `section`; ``facts`` has `FACTS`.
    They are imported when they are asked, since they are heavy.
    """

    def summarise(self, samples: pl.DataFrame) -> dict[str, Figure]:
        derived = self._module("derived")
        return with_units(derived.summary(samples), derived.SUMMARY_UNITS)

    def primary_claims(
        self, cases: Sequence[PlannedCase], settings: Analysis
    ) -> list[PlannedClaims]:
        found: list[PlannedClaims] = self._module("planned").primary_claims(cases, settings)
        return found

    def speeds(self, samples: pl.LazyFrame, settings: Analysis) -> pl.DataFrame:
        found: pl.DataFrame = self._module("planned").speeds(samples, settings)
        return found

    def section(self, data: Data) -> Section | None:
        found: Section | None = self._module("section").section(data)
        return found

    def facts(self) -> Facts:
        found: Facts = self._module("facts").FACTS
        return found

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{type(self).__module__}.{name}")
