"""Rule 21: which thresholds the report prints, read back from what it prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from roundtrip import files
from roundtrip.collect.analysis import Analysis
from roundtrip.errors import UserError
from roundtrip.report.audit.outcome import Outcome, held, missing
from roundtrip.report.audit.subject import Printed, Subject
from roundtrip.report.blocks import Part, Verbatim, flat


def printed(parts: Sequence[Part]) -> Printed:
    """Every number that a part prints as TOML, by table and key."""
    return {key: found for part in parts for key, found in _of(part)}


def _of(part: Part) -> Iterator[tuple[tuple[str, str], tuple[Any, str]]]:
    for block in flat(part.blocks):
        if isinstance(block, Verbatim):
            try:
                tables = files.parse_toml(block.text)
            except UserError:
                continue
            for name, table in tables.items():
                for key, value in table.items() if isinstance(table, dict) else ():
                    yield (name, key), (value, f"“{part.title}”")


def thresholds(one: Subject) -> Outcome:
    """Rule 21: of one study, its own and those that all share."""
    if one.chapter is None:
        return missing("a section of the report about it")
    kind: Any = one.chapter.thresholds
    wanted = _shared(one.analysis, ("statistics", "disturbance", *one.facts.tables))
    if kind is not None:
        values: dict[str, Any] = dict(one.analysis.of(kind))
        wanted |= {(one.chapter.study, key): value for key, value in values.items()}
    return _held(wanted, one.printed)


def _shared(analysis: Analysis, names: Sequence[str]) -> dict[tuple[str, str], Any]:
    """The thresholds of no study, of the tables `names`."""
    return {
        (table, key): value
        for table in names
        for key, value in getattr(analysis, table)
        if value != ()
    }


def _held(wanted: dict[tuple[str, str], Any], there: Printed) -> Outcome:
    off = [
        f"{table} {key}"
        for (table, key), value in wanted.items()
        if (table, key) not in there or _plain(there[table, key][0]) != _plain(value)
    ]
    if off:
        return held(False, f"not printed with the value that is used: {', '.join(off)}")
    where = ", ".join(dict.fromkeys(there[key][1] for key in wanted))
    tables: dict[str, list[str]] = {}
    for table, key in wanted:
        tables.setdefault(table, []).append(key)
    told = "; ".join(f"{table}: {', '.join(keys)}" for table, keys in tables.items())
    return held(True, f"printed in {where}: {told}")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value
