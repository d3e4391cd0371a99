"""What the tables of a bundle must hold, whoever wrote them: a checksum proves no sense.

The sections of a report rely on it, as the collector's readers see to it for what they write.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import model
from roundtrip.collect import samples
from roundtrip.collect.records import DETAILS
from roundtrip.collect.tables.columns import Row, Rule, rules, value
from roundtrip.collect.tables.rows import ROWS, Tables
from roundtrip.errors import UserError, printable

#: Columns that no launch that passed lacks.
_PASSED = (
    *("check", "system", "partition", "environ", "toolchain", "started"),
    *("ranks", "hosts", "emulated", "disturbed", "simulated"),
)


def tables(made: Tables, file: Callable[[str], Path]) -> None:
    """UserError for the first value that no launch can have.

    `file` gives the file of a table, for messages: of ``cases``, or ``details/<study>``.
    """
    launches = made.frames["cases"]
    _cases(launches, file("cases"))
    for name, frame in made.frames.items():
        rows(frame, ROWS[name], file(name))
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


def measured(taken: pl.LazyFrame, launches: pl.DataFrame, file: Path) -> None:
    """UserError for samples that no reader would have accepted, or of no launch that passed."""
    passed = launches.filter(pl.col("status") == "passed").select("launch", "case_id", "study")
    keys = taken.select("launch", "case_id", "study").unique().sort("launch")
    known(keys.collect(), passed, "no launch that passed", file)
    whole = pl.all_horizontal(pl.all().is_not_null().all())
    if not taken.select(whole & samples.all_good()).collect().item():
        raise UserError("rows that no launch can have measured: units, numbers or blanks", file)


def _cases(launches: pl.DataFrame, file: Path) -> None:
    passed = launches.filter(pl.col("status") == "passed")
    for name in _PASSED:
        if passed[name].null_count():
            raise UserError(f"{name} is empty where it cannot be", file)
    if passed.is_empty():
        raise UserError("no launch completed: nothing to report", file)
    if launches["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)


def rows(frame: pl.DataFrame, row: type[Row], file: Path) -> None:
    """UserError for the first cell of a table of rows `row` that breaks one of their rules."""
    for rule in rules(row):
        wrong = frame.filter(rule.broken)
        if not wrong.is_empty():
            raise UserError(f"{rule.column} {_shown(wrong[rule.column][0], rule)}", file)


def _shown(cell: Any, rule: Rule) -> str:
    if cell is None and rule.right.startswith("a text"):
        return "is empty where it cannot be"
    text = printable(str(cell.to_list() if isinstance(cell, pl.Series) else cell)[:60])
    return f"{text!r} is not {rule.right}"


def known(found: pl.DataFrame, launches: pl.DataFrame, whose: str, file: Path) -> None:
    """UserError unless every row is of one of `launches`, by all its columns."""
    strangers = found.join(launches, on=launches.columns, how="anti", nulls_equal=True)
    if not strangers.is_empty():
        name = printable(str(strangers["launch"][0])[:200])
        raise UserError(f"rows of {name!r}, which is {whose}", file)


def _details(study: str, frame: pl.DataFrame, launches: pl.DataFrame, file: Path) -> None:
    own = launches.filter(pl.col("study") == study).select("launch")
    known(frame, own, f"no launch of {study}", file)
    if frame["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)
    for row in frame.iter_rows(named=True):
        if fault := model.fault(DETAILS[study], value(DETAILS[study], row)):
            raise UserError(f"{fault.where or 'a row'}: {fault.why}", file)
