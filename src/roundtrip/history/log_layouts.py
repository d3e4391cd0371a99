"""The layouts of performance logs of ReFrame: which column, or part of one, holds what.

ReFrame derives the header from the site's format, so order, delimiter and number of columns vary.
The header has the name of an attribute where a row has its value, with the same text around it:
``jobid=jobid`` is the header of ``jobid=4711``.  Logs of ReFrame 2 and 3 have no header.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

#: Attributes that identify a row or describe it.
_ATTRIBUTE_NAMES = (
    *("job_completion_time_unix", "job_completion_time", "asctime", "version", "result"),
    *("display_name", "info", "name", "unique_name", "short_name", "system", "partition"),
    *("environ", "jobid", "job_nodelist", "modules", "num_tasks"),
    *("perf_var", "perf_value", "perf_unit", "perf_ref", "perf_result"),
    *("perf_lower_thres", "perf_upper_thres", "perf_lower", "perf_upper"),
)
#: Attributes with the time at which a job ended.
_TIME_ATTRIBUTES = {"job_completion_time", "job_completion_time_unix", "asctime"}
#: Attributes that name the test, the best first.
NAME_ATTRIBUTES = ("display_name", "name", "info", "unique_name", "short_name")
#: Attributes with free text; columns of descriptions and parameters have free text, too.
_TEXT_ATTRIBUTES = ("display_name", "info", "name", "job_nodelist", "modules")
#: Columns whose values ReFrame writes as JSON.
_JSON_ATTRIBUTES = ("env_vars", "extra_resources")
#: Parts of a variable in a log with one line per test; releases before 4.1 write `lower`.
_VARIABLE_PART_PATTERN = "(value|unit|ref|lower_thres|upper_thres|lower|upper|result)"
_VARIABLE_COLUMN = re.compile(
    rf"((?:(?!_{_VARIABLE_PART_PATTERN}\W).)+)_(?P<part>{_VARIABLE_PART_PATTERN})"
)
_ATTRIBUTE_TOKEN = re.compile(
    rf"(?<![\w%])(?:{'|'.join(sorted(_ATTRIBUTE_NAMES, key=len, reverse=True))})(?!\w)"
)
#: Every header contains one of these.
HEADER_WORD_PATTERN = r"job_completion_time|perf_value|_value|display_name|asctime"
_DELIMITERS, _MIN_COLUMNS = "|,;\t", 3


@dataclass(frozen=True, eq=False)
class LogLayout:
    """The layout of a log, from its header: an expression for each of `attributes`, and for each
    part of each of `variables`; `json_columns` hold JSON.  Columns are named by their numbers.

    `fault` says why rows of this layout cannot be used; "" if they can.
    """

    delimiter: str
    width: int
    attributes: dict[str, pl.Expr]
    variables: dict[str, dict[str, pl.Expr]]
    json_columns: tuple[int, ...]
    fault: str

    def text_columns(self) -> list[int]:
        """Return the columns of free text, which may contain the delimiter."""
        cells = [cell for name, cell in self.attributes.items() if name not in _TEXT_ATTRIBUTES]
        cells += [cell for parts in self.variables.values() for cell in parts.values()]
        fixed_columns = {name for cell in cells for name in cell.meta.root_names()}
        return [index for index in range(self.width) if str(index) not in fixed_columns]


@lru_cache(maxsize=256)
def parse_header(line: str) -> LogLayout | None:
    """Return the layout of the header `line`; None if it is no header."""
    layouts = [_parse_layout(line, delimiter) for delimiter in _DELIMITERS if delimiter in line]
    best = max(layouts, key=lambda each: len(each.attributes) + len(each.variables), default=None)
    if best is None or len(best.attributes) + 3 * len(best.variables) < _MIN_COLUMNS:
        return None
    is_log = best.variables or {*_TIME_ATTRIBUTES, "perf_value"} & {*best.attributes}
    return best if is_log else None


def _parse_layout(line: str, delimiter: str) -> LogLayout:
    attributes: dict[str, pl.Expr] = {}
    wide: dict[str, dict[str, pl.Expr]] = {}
    odd_cell = ""
    cells = line.split(delimiter)
    has_units = any(cell.endswith("_unit") and cell != "perf_unit" for cell in cells)
    for index, cell in enumerate(cells):
        column = pl.col(str(index))
        if cell in _ATTRIBUTE_NAMES:
            attributes.setdefault(cell, column)
        elif match := _VARIABLE_COLUMN.fullmatch(cell):
            wide.setdefault(match[1], {})[match["part"]] = column
        # The last occurrence of a name is its place, as in ``jobid=jobid``.
        elif tokens := {token[0]: token for token in _ATTRIBUTE_TOKEN.finditer(cell)}:
            pattern, end = "^", 0
            for token in tokens.values():
                pattern += f"{re.escape(cell[end : token.start()])}(.*?)"
                end = token.end()
            pattern += f"{re.escape(cell[end:])}$"
            for group, name in enumerate(tokens, 1):
                attributes.setdefault(name, column.str.extract(pattern, group))
        elif "_value" in cell:
            odd_cell = cell
    # A variable has a value, and a unit if any has one; a lone `max_value` is no variable.
    variables = {
        name: parts
        for name, parts in wide.items()
        if "value" in parts and ("unit" in parts or not has_units)
    }
    json_columns = tuple(index for index, cell in enumerate(cells) if cell in _JSON_ATTRIBUTES)
    fault = _header_fault(attributes, odd_cell)
    return LogLayout(delimiter, len(cells), attributes, variables, json_columns, fault)


def _header_fault(attributes: dict[str, pl.Expr], odd_cell: str) -> str:
    if odd_cell:
        return f"the header has {odd_cell[:60]!a}: right is one column for each part of a value"
    if not _TIME_ATTRIBUTES & {*attributes}:
        return "the header has no job_completion_time"
    if "info" not in attributes and not {"system", "partition", "environ"} <= {*attributes}:
        return "the header has neither info nor system, partition and environ"
    if not {*NAME_ATTRIBUTES} & {*attributes}:
        return "the header has no name of the test, such as display_name"
    return ""


#: The cells of a row of ReFrame 2 or 3 after its time, and their headers.
_HEADER_BY_OLD_CELL = {
    r"reframe [23]\..*": "reframe version",
    r"jobid=.*": "jobid=jobid",
    r"num_tasks=.*": "num_tasks=num_tasks",
    r"ref=.* \(l=.*, u=.*\)": "ref=perf_ref (l=perf_lower_thres, u=perf_upper_thres)",
    r".* (?:on|@).*:.*": "info",
    r"[^=]+=.*": "perf_var=perf_value",
    r"[^=]*": "perf_unit",
}


def old_header(row: str) -> str | None:
    """The header that fits a row of ReFrame 2 or 3; None for another row, or unknown columns."""
    _, *cells = row.split("|")
    if not cells or not cells[0].startswith(("reframe 2.", "reframe 3.")):
        return None
    headers = ["job_completion_time"]
    for cell in cells:
        matches = (name for old, name in _HEADER_BY_OLD_CELL.items() if re.fullmatch(old, cell))
        headers.append(next(matches, ""))
    is_clear = "" not in headers and len({*headers}) == len(headers)
    return "|".join(headers) if is_clear else None
