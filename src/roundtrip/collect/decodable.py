"""Can the tables of a bundle be decoded?  Asked in a process of its own.

A forged table can ask its decoder for more memory than there is; polars then aborts its process,
and no exception could be caught.  Where polars panics it prints pages before its exception.
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
    """UserError for a table of `bundle` whose decoder dies; all else is left to its reader."""
    tables = sorted(bundle.rglob("*.parquet"))
    decoder = [sys.executable, "-c", _PROGRAM, *map(str, tables)]
    done = subprocess.run(decoder, capture_output=True, text=True)
    if done.returncode:
        how = f"died of signal {-done.returncode}" if done.returncode < 0 else "panicked"
        number = int((done.stdout.split() or ["0"])[-1])
        raise UserError(f"not a table: its decoder {how}", tables[number])
