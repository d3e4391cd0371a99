"""Reads ReFrame's account of a session: a report of data version 3 or 4, from a file or database.

ReFrame's own readers do not serve here: `reframe.frontend.reporting` refuses every report that the
schema of its own release does not fit, all of data version 3 among them, and its results storage
needs a configured run-time and writes indexes and a lock beside the database that it reads.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from roundtrip.errors import UserError, printable
from roundtrip.imported.schema import LOGGED, MOST, Read, SetAside

#: What ReFrame itself tells of a session; any other key was given with --session-extras.
_OWN = {
    *("cmdline", "config_files", "data_version", "hostname", "log_files", "num_cases"),
    *("num_failures", "num_aborted", "num_skipped", "prefix_output", "prefix_stage", "user"),
    *("session_uuid", "time_elapsed", "time_end", "time_end_unix", "time_start"),
    *("time_start_unix", "uuid", "version", "workdir"),
}
_EARLIEST, _LATEST = datetime.datetime(2010, 1, 1), datetime.datetime(2200, 1, 1)
Row = tuple[Any, ...]


def parse(content: bytes) -> Read:
    """The values of a report; one that is no report is set aside whole."""
    read = Read()
    try:
        rows = list(of(content.decode("utf-8"), read))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        read.aside.append(SetAside(line, "not UTF-8 text"))
    except json.JSONDecodeError as error:
        read.aside.append(SetAside(error.lineno, f"not JSON: {error.msg}"))
    except (ValueError, RecursionError):
        read.aside.append(
            SetAside(0, "not JSON: a number of too many digits, or nested too deeply")
        )
    except UserError as error:
        read.aside.append(SetAside(0, error.what))
    else:
        read.rows = frame(rows)
    return read


def frame(rows: list[Row]) -> pl.DataFrame:
    """Rows of `of` as a table of columns `LOGGED`."""
    return pl.DataFrame(rows, schema=LOGGED, orient="row")


def of(text: str, read: Read, where: str = "") -> Iterator[Row]:
    """The values of the report `text`; a test with a fault is set aside in `read`.

    ValueError or RecursionError if it is not JSON, UserError if it is no report.  `where` begins
    the reasons.
    """
    data = json.loads(text)
    info = data.get("session_info") if isinstance(data, dict) else None
    runs = data.get("runs") if isinstance(data, dict) else None
    if not isinstance(info, dict) or not isinstance(runs, list):
        raise UserError("no report of ReFrame: it has no session_info or no runs")
    start, end = _instant(info, "time_start"), _instant(info, "time_end")
    if start is None:
        raise UserError("no report of ReFrame: it does not say when the session began")
    session = (start, end or start, _facts(info))
    for number, run in enumerate(runs):
        tests = run.get("testcases") if isinstance(run, dict) else None
        for index, test in enumerate(tests if isinstance(tests, list) else [None]):
            try:
                rows = list(_test(test, *session))
            except UserError as error:
                told = f"{where}run {number}, test case {index}: {error.what}"
                read.aside.append(SetAside(0, told))
                continue
            read.empty += not rows
            yield from rows


def _test(test: Any, start: datetime.datetime, end: datetime.datetime, facts: str) -> Iterator[Row]:
    if not isinstance(test, dict):
        raise UserError("no test case")
    system, _, partition = _text(test.get("system")).partition(":")
    partition = _text(test.get("partition")) or partition
    environ = _text(test.get("environ")) or _text(test.get("environment"))
    name = _text(test.get("display_name")) or _text(test.get("name"))
    time = _date(test.get("job_completion_time_unix"))
    hosts = test.get("job_nodelist", test.get("nodelist"))
    modules = test.get("modules")
    told = (_joined(hosts), _joined(modules), facts)
    for metric, value, unit, *limits in _variables(test):
        if value is None:
            continue
        if not all((name, system, partition, environ)):
            raise UserError("no name of the test, or not where it ran")
        number = _number(value)
        if number is None:
            raise UserError(f"{printable(metric)[:100]} is no finite number")
        if max(map(len, (system, partition, environ, unit))) > MOST["system"]:
            raise UserError("a name that is too long")
        place = (name, system, partition, environ)
        bounds = [_number(limit) for limit in limits]
        yield (0, time, start, end, *place, *told, metric, number, unit, *bounds)


def _variables(test: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Metric, value, unit, lower and upper limit; data version 4 has an object, 3 a list."""
    values = test.get("perfvalues")
    if isinstance(values, dict):
        for key, told in values.items():
            if not isinstance(told, list) or len(told) < 5:
                raise UserError("a performance value is no list of value, limits and unit")
            value, _, lower, upper, unit, *_ = told
            yield _text(key.rpartition(":")[2]), value, _text(unit), lower, upper
    old = test.get("perfvars")
    for told in old if isinstance(old, list) else []:
        if not isinstance(told, dict) or not _text(told.get("name")):
            raise UserError("a performance value has no name")
        limits = (told.get("thres_lower"), told.get("thres_upper"))
        yield _text(told["name"]), told.get("value"), _text(told.get("unit")), *limits


def _facts(info: dict[str, Any]) -> str:
    """What the user and ReFrame say of the session, as a JSON object of texts."""
    facts = {"ReFrame": _text(info.get("version"))}
    for key, value in info.items():
        if key not in _OWN and isinstance(value, str | int | float):
            facts[printable(key)[:100]] = printable(str(value))[:200]
    return json.dumps({key: value for key, value in facts.items() if value}, sort_keys=True)


def _text(value: Any) -> str:
    """A text that fits into a table; "" for anything else."""
    text = value if isinstance(value, str) and len(value) <= MOST["name"] else ""
    return printable(text.strip())


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(text for item in value if (text := _text(item)))[: MOST["hosts"]]
    return _text(value)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 1e300:
        return None
    return float(value) if math.isfinite(value) else None


def _instant(info: dict[str, Any], key: str) -> datetime.datetime | None:
    """A time of the session; reports of data version 3 have it as text only."""
    if found := _date(info.get(f"{key}_unix")):
        return found
    try:
        read = datetime.datetime.fromisoformat(_text(info.get(key)))
        told = read.astimezone(datetime.UTC).replace(tzinfo=None) if read.tzinfo else read
    except (ValueError, OverflowError):
        return None
    return told if _EARLIEST < told < _LATEST else None


def _date(seconds: Any) -> datetime.datetime | None:
    number = _number(seconds)
    if number is None or not 0 < number < 2**33:
        return None
    told = datetime.datetime.fromtimestamp(number, datetime.UTC).replace(tzinfo=None)
    return told if _EARLIEST < told < _LATEST else None
