"""Rules 1 and 16: what the tables and axes of the laid-out report say of their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from roundtrip.report import units
from roundtrip.report.audit import numbers
from roundtrip.report.audit.numbers import Number, plain
from roundtrip.report.audit.outcome import Outcome, held, missing, no_case
from roundtrip.report.audit.subject import Subject
from roundtrip.report.blocks import PURE, RATIO, Table

_NAMED = 3  # so many faults are told, the others counted


def bases(one: Subject) -> Outcome:
    """Rule 1."""
    if one.chapter is None:
        return missing("a section of the report about it")
    faults: list[str] = []
    checked = unknown = 0
    valued = _valued(one)
    for table in one.tables:
        there = list(numbers.numbers(table))
        unknown += len({number.column.name for number in there if not number.unit})
        ratios = [number for number in there if number.unit == RATIO]
        for name in dict.fromkeys(number.column.name for number in ratios):
            of_column = [number for number in ratios if number.column.name == name]
            checked += 1
            if lacking := next(filter(None, (_baseless(valued, table, n) for n in of_column)), ""):
                faults.append(f"“{name}” of “{_short(table)}”: {lacking}")
    if faults:
        return held(False, _told(faults, f"of {checked} columns of ratios"))
    if unknown:
        told = units.plural(unknown, "column of numbers is one", "columns of numbers are some")
        return missing(f"whether {told} of ratios")
    if not checked:
        return no_case("no table has a ratio")
    return held(
        True, f"{units.plural(checked, 'column')} of ratios: each base has its own value in a table"
    )


def _baseless(valued: str, table: Table, number: Number) -> str:
    """Why the base of a ratio is not known, "" if it is named and its value stands somewhere."""
    base = number.cell.base or number.column.base
    for column, cell in zip(table.columns, number.row, strict=True):
        if column.name == base and not numbers.is_number(cell):
            base = plain(cell.text).rpartition(" / ")[2]
            break
    if not base:
        return "names no base"
    return "" if f", {_plainly(base)}, " in valued else f"the value of {base} is in no table"


def _valued(one: Subject) -> str:
    """Names of the columns and rows that have own values, each in ``, name, ``, a line each."""
    names: dict[str, None] = {}
    for table in one.tables:
        for number in numbers.numbers(table):
            if number.unit not in (RATIO, PURE, ""):
                names[number.column.name] = None
                names |= dict.fromkeys(c.text for c in number.row if c is not number.cell)
    return "\n".join(f", {_plainly(name)}, " for name in names)


def _plainly(name: str) -> str:
    return plain(name).replace(" (base)", "").replace("\n", " ")


def units_told(one: Subject) -> Outcome:
    """Rule 16."""
    if one.chapter is None:
        return missing("a section of the report about it")
    columns: set[tuple[int, str]] = set()
    faults: dict[str, None] = {}
    for at, table in enumerate(one.tables):
        for number in numbers.numbers(table):
            columns.add((at, number.column.name))
            if lacking := numbers.fault(number, table.caption):
                faults[f"“{number.column.name}” of “{_short(table)}”: {lacking}"] = None
    axes = list(_axes(one))
    faults |= dict.fromkeys(fault for fault in axes if fault)
    if faults:
        count = f"of {len(columns)} columns of numbers and {len(axes)} axes"
        return held(False, _told(list(faults), count))
    if not columns and not axes:
        return no_case("shows no number")
    told = f"{units.plural(len(columns), 'column')} of numbers"
    told += f", {units.plural(len(axes), 'axis', 'axes')}" if axes else ""
    return held(True, f"{told}: each with its unit, or without one because it needs none")


def _axes(one: Subject) -> Iterator[str]:
    """Of each axis of each figure, what is wrong with its name; "" if nothing."""
    for figure, caption in one.figures:
        for name in figure.plot.axes if figure.plot else ():
            fine = numbers.is_pure(name) or numbers.named(name or caption)
            yield "" if fine else f"axis “{name}” of “{figure.alt}”: no unit"


def _short(table: Table) -> str:
    return plain(table.caption).partition(": ")[0].partition(". ")[0].partition("? ")[0].rstrip(".")


def _told(faults: list[str], of: str) -> str:
    more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
    return f"{len(faults)} {of}: {'; '.join(faults[:_NAMED])}{more}"
