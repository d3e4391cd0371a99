"""What is kept of a file that is imported: one row a value that one job logged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

Schema = dict[str, Any]

#: What a reader makes of a file; no name is replaced by a pseudonym yet.  `name` is ReFrame's name
#: of the test with its parameters; `time` (UTC) is when its job ended, null where only the session
#: is known; `hosts` are joined by ",".  `reference` is 0 where there is none, and a limit is null.
#: `facts` is a JSON object about the session.
LOGGED: Schema = {
    "line": pl.Int64,
    "time": pl.Datetime("us"),
    "session": pl.Datetime("us"),
    "session_end": pl.Datetime("us"),
    "name": pl.String,
    "system": pl.String,
    "partition": pl.String,
    "environ": pl.String,
    "hosts": pl.String,
    "modules": pl.String,
    "facts": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "unit": pl.String,
    "lower": pl.Float64,
    "upper": pl.Float64,
}
#: ``values.parquet``: what is kept, with names of hosts replaced.  `digest` is the sha256 of the
#: file that the value stood in.
VALUES: Schema = {
    "time": pl.Datetime("us"),
    "session": pl.Datetime("us"),
    "session_end": pl.Datetime("us"),
    "case_id": pl.String,
    "case": pl.String,
    "environ": pl.String,
    "nodes": pl.String,
    "modules": pl.String,
    "facts": pl.String,
    "metric": pl.String,
    "unit": pl.String,
    "value": pl.Float64,
    "lower_is_better": pl.Boolean,
    "digest": pl.String,
}


#: Characters of a text at most.
MOST = {
    **dict.fromkeys(("system", "partition", "environ", "unit"), 200),
    **dict.fromkeys(("name", "metric", "modules"), 1000),
    "hosts": 100_000,
}


@dataclass(frozen=True)
class SetAside:
    """Something of a file that is not taken: the line where it begins (0: the whole), and why."""

    line: int
    reason: str


@dataclass
class Read:
    """What a file holds: rows as `LOGGED`, what is set aside, and how many rows have no value."""

    rows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOGGED))
    aside: list[SetAside] = field(default_factory=list)
    empty: int = 0
