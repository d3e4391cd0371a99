"""Reads ReFrame's results database: sqlite, each session a JSON report in a column.

All releases from 4.7 to 4.10 write the same tables.  The database is only read: it is opened
read-only, copied at one instant, and let go.
"""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from roundtrip.errors import UserError, printable
from roundtrip.imported import session
from roundtrip.imported.schema import Read, SetAside

MAGIC = b"SQLite format 3\0"
#: How long a writer is waited for, and how long a query may take, seconds.
_PATIENCE = 60
#: Of a report in a cell, bytes: a generated column may compute any.
_LONGEST = 1 << 28
_QUERY = "SELECT uuid, json_blob FROM sessions ORDER BY session_start_unix, uuid"


def content(file: Path) -> bytes:
    """The database as it is at one instant; UserError if it is locked for a minute, or broken."""
    try:
        address = f"file:{quote(str(file.resolve()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as opened:
            opened.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return opened.serialize()
    except sqlite3.Error as error:
        raise UserError(f"cannot be read as a database: {printable(str(error))}", file) from None


def parse(whole: bytes) -> Read:
    """The values of a database; a session with a fault is set aside, the others are taken."""
    read = Read()
    rows: list[session.Row] = []
    try:
        with closing(sqlite3.connect(":memory:")) as opened:
            opened.deserialize(whole)
            opened.execute("PRAGMA trusted_schema = OFF")
            opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            limit = time.monotonic() + _PATIENCE
            opened.set_progress_handler(lambda: time.monotonic() > limit, 100_000)
            kind = "SELECT type FROM sqlite_master WHERE name = 'sessions'"
            if opened.execute(kind).fetchall() != [("table",)]:
                read.aside.append(SetAside(0, "no results database of ReFrame: no table sessions"))
                return read
            for number, (uuid, blob) in enumerate(opened.execute(_QUERY)):
                where = printable(f"session {uuid}")[:60] if uuid else f"session {number}"
                rows += _session(blob, f"{where}: ", read)
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        read.aside.append(SetAside(0, f"broken database: {printable(str(error))[:200]}"))
    read.rows = session.frame(rows)
    return read


def _session(blob: object, where: str, read: Read) -> list[session.Row]:
    try:
        text = blob.decode() if isinstance(blob, bytes) else str(blob)
        return list(session.of(text, read, where))
    except json.JSONDecodeError as error:
        told = f"not JSON: {error.msg}"
    except (ValueError, RecursionError):
        told = "not JSON, not UTF-8, or nested too deeply"
    except UserError as error:
        told = error.what
    read.aside.append(SetAside(0, where + told))
    return []
