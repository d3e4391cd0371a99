"""What the tables of a bundle must hold, whoever wrote them: a manifest proves no sense.

The sections of a report rely on it, as the collector's readers see to it for what they write.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from roundtrip import files
from roundtrip.collect import records, samples, schemas
from roundtrip.errors import UserError

_STATUSES = ("passed", "failed", "missing", "skipped")
_ALWAYS = ("launch", "case_id", "study", "status")
_PASSED = ("check", "system", "partition", "environ", "toolchain", "parameters", "started")
_PASSED_TOO = ("ranks", "hosts", "disturbed", "points", "simulated")
_MOST_RANKS = 2**31


def require_launches(launches: pl.DataFrame, file: Path) -> None:
    """UserError for the first thing in cases.parquet that no launch can be."""
    passed = launches.filter(pl.col("status") == "passed")
    _require_present(launches, _ALWAYS, file)
    _require_present(passed, (*_PASSED, *_PASSED_TOO), file)
    if passed.is_empty():
        raise UserError("no launch came back: nothing to report", file)
    if unknown := sorted(set(launches["status"]) - set(_STATUSES)):
        raise UserError(f"status {unknown[0]!r} is none of {', '.join(_STATUSES)}", file)
    if launches["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)
    for name, least, most in (
        ("elapsed_s", 0, samples.MOST_VALUE),
        ("ranks", 1, _MOST_RANKS),
        ("warmup_discarded", 0, samples.MOST_COUNT),
        ("campaign_round", 1, _MOST_RANKS),
        ("wanted", 0, _MOST_RANKS),
    ):
        if not launches[name].drop_nulls().is_between(least, most).all():
            raise UserError(f"{name} is not between {least} and {most:g} in every row", file)
    for name in schemas.COLUMNS:
        _require_json(f"column {name}", passed[name].drop_nulls().unique(), file)
    for (study,), group in passed.group_by("study"):
        if study in schemas.DETAILS:
            _require_json(f"details of {study}", group["details"].drop_nulls().unique(), file)


def require_samples(rows: pl.LazyFrame, launches: pl.DataFrame, file: Path) -> None:
    """UserError for samples that no reader would have accepted, or of no launch that passed."""
    passed = launches.filter(pl.col("status") == "passed").select("launch", "case_id", "study")
    keys = rows.select("launch", "case_id", "study").unique()
    strangers = keys.join(passed.lazy(), on=["launch", "case_id", "study"], how="anti")
    if not (found := strangers.sort("launch").collect()).is_empty():
        raise UserError(f"samples of {found['launch'][0]!r}, which is no launch that passed", file)
    whole = pl.all_horizontal(pl.all().is_not_null().all())
    if not rows.select(whole & samples.all_good()).collect().item():
        raise UserError("rows that no launch can have measured: units, numbers or blanks", file)


def _require_present(frame: pl.DataFrame, names: Iterable[str], file: Path) -> None:
    for name in names:
        if frame[name].null_count():
            raise UserError(f"{name} is empty where it cannot be", file)


def _require_json(kind: str, texts: Iterable[str], file: Path) -> None:
    for text in texts:
        if fault := records.first_fault(kind, files.parse_json(text, f"{file}, {kind}")):
            raise UserError(f"{kind}, {fault.where or 'whole'}: {fault.told}", file)
