"""Reads ReFrame's session reports, data version 3 or 4, and its results database.

ReFrame's own readers are unsuitable: `reframe.frontend.reporting` refuses each report that does not
fit the schema of its own release, including all of data version 3; its results storage needs a
configured run-time, and writes indexes and a lock beside the database.  Releases 4.7 to 4.10 write
the same tables, with a JSON report of each session in a column.
"""

from __future__ import annotations

import datetime
import json
import math
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from roundtrip.errors import UserError, printable
from roundtrip.history.imported_nights import (
    LOGGED_VALUES,
    MAX_LENGTHS,
    MAX_TIME,
    MIN_TIME,
    ParsedFile,
    parse_time,
)

#: ReFrame's own keys of a session; other keys come from --session-extras.
_SESSION_KEYS = {
    *("cmdline", "config_files", "data_version", "hostname", "log_files", "num_cases"),
    *("num_failures", "num_aborted", "num_skipped", "prefix_output", "prefix_stage", "user"),
    *("session_uuid", "time_elapsed", "time_end", "time_end_unix", "time_start"),
    *("time_start_unix", "uuid", "version", "workdir"),
}
_ValueRow = tuple[Any, ...]


def parse_report(content: bytes) -> ParsedFile:
    """Return the values of a report; reject an invalid report as a whole, without a UserError."""
    result = ParsedFile()
    result.rows = pl.DataFrame(_parse_session(content, result), schema=LOGGED_VALUES, orient="row")
    return result


def _parse_session(content: bytes | str, result: ParsedFile, prefix: str = "") -> list[_ValueRow]:
    """Return the rows of a session's report; [] if it is rejected.  Reasons begin with `prefix`."""
    try:
        text = content.decode() if isinstance(content, bytes) else content
        return list(_report_rows(text, result, prefix))
    except UnicodeDecodeError as error:
        line, reason = error.object.count(b"\n", 0, error.start) + 1, "not UTF-8 text"
    except json.JSONDecodeError as error:
        line, reason = error.lineno, f"not JSON: {error.msg}"
    except (ValueError, RecursionError):
        line, reason = 0, "not JSON: a number of too many digits, or nested too deeply"
    except UserError as error:
        line, reason = 0, error.message
    result.reject(0 if prefix else line, prefix + reason)
    return []


def _report_rows(text: str, result: ParsedFile, prefix: str) -> Iterator[_ValueRow]:
    """ValueError or RecursionError if `text` is not JSON, UserError if it is no report."""
    data = json.loads(text)
    info = data.get("session_info") if isinstance(data, dict) else None
    runs = data.get("runs") if isinstance(data, dict) else None
    if not isinstance(info, dict) or not isinstance(runs, list):
        raise UserError("no report of ReFrame: it has no session_info or no runs")
    start, end = _session_time(info, "time_start"), _session_time(info, "time_end")
    if start is None:
        raise UserError("no report of ReFrame: it does not say when the session began")
    facts = {"ReFrame": _valid_text(info.get("version"))}
    for key, value in info.items():
        if key not in _SESSION_KEYS and isinstance(value, str | int | float):
            facts[printable(key)[:100]] = printable(str(value))[:200]
    known_facts = {key: value for key, value in facts.items() if value}
    session = (start, end or start, json.dumps(known_facts, sort_keys=True))
    for number, run in enumerate(runs):
        tests = run.get("testcases") if isinstance(run, dict) else None
        for index, test in enumerate(tests if isinstance(tests, list) else [None]):
            label = f"{prefix}run {number}, test case {index}: "
            reject_count = len(result.rejects)
            try:
                rows = list(_test_rows(test, *session, result, label))
            except UserError as error:
                result.reject(0, label + error.message)
            else:
                result.empty_rows += not rows and len(result.rejects) == reject_count
                yield from rows


def _test_rows(
    test: Any,
    start: datetime.datetime,
    end: datetime.datetime,
    facts: str,
    result: ParsedFile,
    label: str,
) -> Iterator[_ValueRow]:
    if not isinstance(test, dict):
        raise UserError("no test case")
    system, _, partition = _valid_text(test.get("system")).partition(":")
    partition = _valid_text(test.get("partition")) or partition
    environ = _valid_text(test.get("environ")) or _valid_text(test.get("environment"))
    name = _valid_text(test.get("display_name")) or _valid_text(test.get("name"))
    time = _utc_time(test.get("job_completion_time_unix"))
    hosts = _join_texts(test.get("job_nodelist", test.get("nodelist")))
    place, modules = (name, system, partition, environ), _join_texts(test.get("modules"))
    for metric, value, unit, *limits in _test_variables(test):
        if value is None:
            continue
        if not all(place):
            raise UserError("no name of the test, or not where it ran")
        number = _finite_number(value)
        if number is None:
            result.reject(0, f"{label}{printable(metric)[:100]} is no finite number")
            continue
        if max(map(len, (*place[1:], unit))) > MAX_LENGTHS["system"]:
            raise UserError("a name that is too long")
        bounds = map(_finite_number, limits)
        yield (0, time, start, end, *place, hosts, modules, facts, metric, number, unit, *bounds)


def _test_variables(test: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Metric, value, unit, lower and upper limit; data version 4 has an object, 3 a list."""
    values = test.get("perfvalues")
    if isinstance(values, dict):
        for key, entry in values.items():
            if not isinstance(entry, list) or len(entry) < 5:
                raise UserError("a performance value is no list of value, limits and unit")
            value, _, lower, upper, unit, *_ = entry
            yield _valid_text(key.rpartition(":")[2]), value, _valid_text(unit), lower, upper
    entries = test.get("perfvars")
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or not _valid_text(entry.get("name")):
            raise UserError("a performance value has no name")
        value, *limits = (entry.get(key) for key in ("value", "thres_lower", "thres_upper"))
        yield _valid_text(entry["name"]), value, _valid_text(entry.get("unit")), *limits


def _valid_text(value: Any) -> str:
    """A text that fits into a table; "" for anything else."""
    text = value if isinstance(value, str) and len(value) <= MAX_LENGTHS["name"] else ""
    return printable(text.strip())


def _join_texts(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(text for item in value if (text := _valid_text(item)))[
            : MAX_LENGTHS["hosts"]
        ]
    return _valid_text(value)


def _finite_number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 1e300:
        return None
    return float(value) if math.isfinite(value) else None


def _session_time(info: dict[str, Any], key: str) -> datetime.datetime | None:
    """A time of the session; reports of data version 3 have it as text only."""
    if instant := _utc_time(info.get(f"{key}_unix")):
        return instant
    instant = parse_time(_valid_text(info.get(key)), datetime.UTC)
    return instant if instant and MIN_TIME < instant < MAX_TIME else None


def _utc_time(seconds: Any) -> datetime.datetime | None:
    number = _finite_number(seconds)
    if number is None or not 0 < number < 2**33:
        return None
    date = datetime.datetime.fromtimestamp(number, datetime.UTC).replace(tzinfo=None)
    return date if MIN_TIME < date < MAX_TIME else None


SQLITE_MAGIC = b"SQLite format 3\0"
#: Timeout of a locked database, and of a query, seconds.
_DATABASE_TIMEOUT_S = 60
#: Size limit of a report in a cell, bytes, because a generated column may compute any size.
_MAX_REPORT_BYTES = 1 << 28
_SESSIONS_QUERY = "SELECT uuid, json_blob FROM sessions ORDER BY session_start_unix, uuid"


def copy_database(file: Path) -> bytes:
    """Return a snapshot of the database; UserError if it is locked for a minute, or broken."""
    try:
        address = f"file:{quote(str(file.resolve()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_DATABASE_TIMEOUT_S)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return connection.serialize()
    except sqlite3.Error as error:
        raise UserError(f"cannot be read as a database: {printable(str(error))}", file) from None


def parse_database(content: bytes) -> ParsedFile:
    """Return the values of a database; reject faulty sessions, without a UserError."""
    result = ParsedFile()
    rows: list[_ValueRow] = []
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(content)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_REPORT_BYTES)
            limit = time.monotonic() + _DATABASE_TIMEOUT_S
            connection.set_progress_handler(lambda: time.monotonic() > limit, 100_000)
            kind = "SELECT type FROM sqlite_master WHERE name = 'sessions'"
            if connection.execute(kind).fetchall() != [("table",)]:
                result.reject(0, "no results database of ReFrame: no table sessions")
                return result
            for number, (uuid, blob) in enumerate(connection.execute(_SESSIONS_QUERY)):
                label = printable(f"session {uuid}")[:60] if uuid else f"session {number}"
                text = blob if isinstance(blob, bytes) else str(blob)
                rows += _parse_session(text, result, f"{label}: ")
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        result.reject(0, f"broken database: {printable(str(error))[:200]}")
    result.rows = pl.DataFrame(rows, schema=LOGGED_VALUES, orient="row")
    return result
