"""The header of a performance log: which column holds what.

ReFrame makes it from the site's own format, so order, delimiter and number of columns are free.
A name of an attribute stands in the header where its value stands in a row, with the text around
it: ``jobid=jobid`` is the header of ``jobid=4711``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

#: Attributes that identify a row or describe it.
_KNOWN = (
    *("job_completion_time_unix", "job_completion_time", "asctime", "version", "result"),
    *("display_name", "info", "name", "unique_name", "short_name", "system", "partition"),
    *("environ", "jobid", "job_nodelist", "modules", "num_tasks"),
    *("perf_var", "perf_value", "perf_unit", "perf_ref", "perf_result"),
    *("perf_lower_thres", "perf_upper_thres", "perf_lower", "perf_upper"),
)
#: Those of them that say when a job ended.
_TIMES = {"job_completion_time", "job_completion_time_unix", "asctime"}
#: Those of them that may hold any text; a description may too, and a parameter.
_TEXTS = ("display_name", "info", "name", "job_nodelist", "modules")
#: Columns whose values ReFrame writes as JSON.
_JSON = ("env_vars", "extra_resources")
#: A column of one variable, in a log with one line a test; releases before 4.1 say `lower`.
_PART = "(value|unit|ref|lower_thres|upper_thres|lower|upper|result)"
_WIDE = re.compile(rf"((?:(?!_{_PART}\W).)+)_(?P<part>{_PART})")
_TOKEN = re.compile(rf"(?<![\w%])(?:{'|'.join(sorted(_KNOWN, key=len, reverse=True))})(?!\w)")
#: What every header has one of.
HINT = r"job_completion_time|perf_value|_value|display_name|asctime"
_DELIMITERS = "|,;\t"
_FEWEST = 3


@dataclass(frozen=True)
class Place:
    """Column `index`, and group `group` of `pattern` in it; the whole column without a pattern."""

    index: int
    pattern: str = ""
    group: int = 0


@dataclass(frozen=True)
class Layout:
    """`known` places of attributes, `wide` columns of each variable, `json` columns.

    `fault` says why rows of this layout cannot be used; "" if they can.
    """

    delimiter: str
    width: int
    known: dict[str, Place]
    wide: dict[str, dict[str, int]]
    json: tuple[int, ...]
    fault: str

    def texts(self) -> list[int]:
        """The columns that may hold any text, the delimiter too."""
        fixed = {index for columns in self.wide.values() for index in columns.values()}
        fixed |= {place.index for name, place in self.known.items() if name not in _TEXTS}
        return [index for index in range(self.width) if index not in fixed]


@lru_cache(maxsize=256)
def parse_header(line: str) -> Layout | None:
    """The layout that `line` announces; None if it is no header."""
    found = [_layout(line, delimiter) for delimiter in _DELIMITERS if delimiter in line]
    best = max(found, key=lambda layout: len(layout.known) + len(layout.wide), default=None)
    if best is None or len(best.known) + 3 * len(best.wide) < _FEWEST:
        return None
    return best if _TIMES & {*best.known} or best.wide or "perf_value" in best.known else None


def _layout(line: str, delimiter: str) -> Layout:
    known: dict[str, Place] = {}
    wide: dict[str, dict[str, int]] = {}
    strange = ""
    cells = line.split(delimiter)
    units = any(cell.endswith("_unit") and cell != "perf_unit" for cell in cells)
    for index, cell in enumerate(cells):
        if cell in _KNOWN:
            known.setdefault(cell, Place(index))
        elif column := _WIDE.fullmatch(cell):
            wide.setdefault(column[1], {})[column["part"]] = index
        # Of a name that stands twice, as ``jobid=jobid``, the last counts.
        elif tokens := {token[0]: token for token in _TOKEN.finditer(cell)}:
            pattern, end = "^", 0
            for group, token in enumerate(tokens.values(), 1):
                pattern += f"{re.escape(cell[end : token.start()])}(.*?)"
                end = token.end()
                known.setdefault(token[0], Place(index, "", group))
            pattern += f"{re.escape(cell[end:])}$"
            for name, place in list(known.items()):
                if place.index == index:
                    known[name] = Place(index, pattern, place.group)
        elif "_value" in cell:
            strange = cell
    # A variable has a value, and a unit where any has one: `max_value` alone is no variable.
    real = {
        name: columns
        for name, columns in wide.items()
        if "value" in columns and ("unit" in columns or not units)
    }
    json = tuple(index for index, cell in enumerate(cells) if cell in _JSON)
    return Layout(delimiter, len(cells), known, real, json, _fault(known, strange))


def _fault(known: dict[str, Place], strange: str) -> str:
    if strange:
        return f"the header has {strange[:60]!a}: right is one column for each part of a value"
    if not _TIMES & {*known}:
        return "the header has no job_completion_time"
    if "info" not in known and not {"system", "partition", "environ"} <= {*known}:
        return "the header has neither info nor system, partition and environ"
    if not {"display_name", "info", "name", "unique_name", "short_name"} & {*known}:
        return "the header has no name of the test, such as display_name"
    return ""
