"""Tests in a process of its own whether the tables of a bundle can be decoded.

A forged table can make its decoder ask for more memory than there is.  Then polars aborts its
process, and no exception can be caught.  If polars panics, it prints pages before its exception.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from roundtrip.errors import UserError

#: Prints the number of each file before it decodes it.
_PROGRAM = """
import sys, polars
for number, file in enumerate(sys.argv[1:]):
    print(number, flush=True)
    try:
        polars.read_parquet(file)
    except (polars.exceptions.PolarsError, OSError):
        pass
"""


def require(bundle: Path) -> None:
    """UserError for a table of `bundle` whose decoder dies; its reader finds all other faults."""
    tables = sorted(bundle.rglob("*.parquet"))
    decoder = [sys.executable, "-c", _PROGRAM, *map(str, tables)]
    done = subprocess.run(decoder, capture_output=True, text=True)
    if done.returncode:
        how = f"died of signal {-done.returncode}" if done.returncode < 0 else "panicked"
        number = int((done.stdout.split() or ["0"])[-1])
        raise UserError(f"not a table: its decoder {how}", tables[number])
