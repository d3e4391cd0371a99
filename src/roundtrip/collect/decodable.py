"""Tests in a process of its own whether the tables of a bundle can be decoded.

A forged table can make its decoder ask for more memory than there is.  Then polars aborts its
process, and no exception can be caught.  If polars panics, it prints pages before its exception.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from roundtrip.errors import UserError

#: Prints the number of each file before it decodes it.
_PROGRAM = """
import sys, polars
for number, file in enumerate(sys.stdin.read().split(chr(0))):
    print(number, flush=True)
    try:
        polars.read_parquet(file)
    except (polars.exceptions.PolarsError, OSError):
        pass
"""


def require(bundle: Path) -> None:
    """UserError for a table of `bundle` whose decoder dies; its reader finds all other faults."""
    tables = sorted(bundle.rglob("*.parquet"))
    if tables and (found := first_fault(tables)):
        number, how = found
        raise UserError(f"not a table: its decoder {how}", tables[number])


def first_fault(tables: Sequence[Path]) -> tuple[int, str] | None:
    """The number of the first of some tables whose decoder dies, and how it does; None if none."""
    names = chr(0).join(map(str, tables))
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=names, capture_output=True, text=True
    )
    if not done.returncode:
        return None
    how = f"died of signal {-done.returncode}" if done.returncode < 0 else "panicked"
    return int((done.stdout.split() or ["0"])[-1]), how
