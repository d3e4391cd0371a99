"""What the tables of a bundle must hold, whoever wrote them: a manifest proves no sense.

The sections of a report rely on it, as the collector's readers see to it for what they write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from roundtrip.collect import records, samples, schemas
from roundtrip.collect.tables import typed
from roundtrip.collect.tables.rules import RULES, Rule
from roundtrip.collect.tables.schema import Tables
from roundtrip.collect.text import printable
from roundtrip.errors import UserError

_ALWAYS = ("launch", "case_id", "study", "status")
_PASSED = ("check", "system", "partition", "environ", "toolchain", "started")
_PASSED_TOO = ("ranks", "hosts", "emulated", "disturbed", "simulated")


def tables(made: Tables, file: Callable[[str], Path]) -> None:
    """UserError for the first value that no launch can have.

    `file` gives the file of a table, for messages: of ``cases``, or ``details/<study>``.
    """
    launches = made.frames["cases"]
    _cases(launches, file("cases"))
    for name, frame in made.frames.items():
        for one in RULES[name]:
            rule(frame, one, file(name))
    of_all = launches.select("launch")
    passed = launches.filter(pl.col("status") == "passed").select("launch", "case_id", "study")
    for name in ("parameters", "emulation", "placement", "nodes", "disturbance"):
        known(made.frames[name], of_all, "no launch of cases.parquet", file(name))
    known(made.frames["points"], passed, "no launch that passed", file("points"))
    for name in ("parameters", "emulation"):
        if made.frames[name].select("launch", "name").is_duplicated().any():
            raise UserError("a name stands there twice for a launch", file(name))
    emulated = launches.filter("emulated")["launch"]
    if set(emulated) != set(made.frames["emulation"]["launch"]):
        raise UserError("emulated is not as emulation.parquet has it", file("cases"))
    for study, frame in made.details.items():
        _details(study, frame, launches, file(f"details/{study}"))


def measured(rows: pl.LazyFrame, launches: pl.DataFrame, file: Path) -> None:
    """UserError for samples that no reader would have accepted, or of no launch that passed."""
    passed = launches.filter(pl.col("status") == "passed").select("launch", "case_id", "study")
    keys = rows.select("launch", "case_id", "study").unique().sort("launch")
    known(keys.collect(), passed, "no launch that passed", file)
    whole = pl.all_horizontal(pl.all().is_not_null().all())
    if not rows.select(whole & samples.all_good()).collect().item():
        raise UserError("rows that no launch can have measured: units, numbers or blanks", file)


def _cases(launches: pl.DataFrame, file: Path) -> None:
    passed = launches.filter(pl.col("status") == "passed")
    _present(launches, _ALWAYS, file)
    _present(passed, (*_PASSED, *_PASSED_TOO), file)
    if passed.is_empty():
        raise UserError("no launch completed: nothing to report", file)
    if launches["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)


def _present(frame: pl.DataFrame, names: Iterable[str], file: Path) -> None:
    for name in names:
        if frame[name].null_count():
            raise UserError(f"{name} is empty where it cannot be", file)


def rule(frame: pl.DataFrame, one: Rule, file: Path) -> None:
    """UserError for the first cell of its column that breaks the rule `one`."""
    wrong = frame.filter(one.broken)
    if not wrong.is_empty():
        value = printable(str(wrong[one.column][0])[:60])
        raise UserError(f"{one.column} {value!r} is not {one.told}", file)


def known(rows: pl.DataFrame, launches: pl.DataFrame, told: str, file: Path) -> None:
    """UserError unless every row is of one of `launches`, by all its columns."""
    strangers = rows.join(launches, on=launches.columns, how="anti", nulls_equal=True)
    if not strangers.is_empty():
        name = printable(str(strangers["launch"][0])[:200])
        raise UserError(f"rows of {name!r}, which is {told}", file)


def _details(study: str, frame: pl.DataFrame, launches: pl.DataFrame, file: Path) -> None:
    own = launches.filter(pl.col("study") == study).select("launch")
    known(frame, own, f"no launch of {study}", file)
    if frame["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)
    for row in frame.iter_rows(named=True):
        told = typed.value(schemas.DETAILS[study], row)
        if fault := records.first_fault(f"details of {study}", told):
            raise UserError(f"{fault.where or 'a row'}: {fault.told}", file)
