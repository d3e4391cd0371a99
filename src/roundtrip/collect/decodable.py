"""Can the tables of a bundle be decoded?  Asked in a process of its own.

A forged table can ask its decoder for more memory than there is; polars then aborts its process,
and no exception could be caught.  Where polars panics it prints pages before its exception.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from roundtrip.errors import UserError

_PROGRAM = """
import sys, polars
try:
    polars.read_parquet(sys.argv[1])
except (polars.exceptions.PolarsError, OSError):
    pass
"""


def require(bundle: Path) -> None:
    """UserError for a table of `bundle` whose decoder dies; all else is left to its reader."""
    for file in sorted(bundle.glob("*.parquet")):
        decoder = [sys.executable, "-c", _PROGRAM, str(file)]
        status = subprocess.run(decoder, capture_output=True).returncode
        if status:
            how = f"died of signal {-status}" if status < 0 else "panicked"
            raise UserError(f"not a table: its decoder {how}", file)
