"""What is kept of a file that is imported: one row a value that one job logged."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import polars as pl
from pydantic import Field

from roundtrip.collect.samples import LEAST_VALUE, MOST_VALUE
from roundtrip.collect.tables.columns import Row, Rule, columns
from roundtrip.model import json_schema

_Name = Annotated[str, Field(max_length=200)]
_Long = Annotated[str, Field(max_length=1000)]
_Measured = Annotated[float, Field(ge=LEAST_VALUE, le=MOST_VALUE)]


class Logged(Row):
    """A value as a reader makes it of a file; no name is replaced by a pseudonym yet.

    `name` is ReFrame's name of the test with its parameters; `time` (UTC) is when its job ended,
    null where only the session is known; `hosts` are joined by ",".  A limit that there is none of
    is null.  `facts` is a JSON object about the session.
    """

    line: int
    time: datetime | None
    session: datetime | None
    session_end: datetime | None
    name: _Long
    system: _Name
    partition: _Name
    environ: _Name
    hosts: Annotated[str, Field(max_length=100_000)]
    modules: _Long
    facts: str
    metric: _Long
    value: float
    unit: _Name
    lower: float | None
    upper: float | None


class Value(Row):
    """A row of ``values.parquet``: what is kept, with names of hosts replaced.

    `digest` is the sha256 of the file that the value stood in.
    """

    across = (
        Rule(
            "time",
            pl.col("time").is_not_null() | pl.col("session").is_not_null(),
            "the time of a value, nor is that of its session",
        ),
    )

    time: datetime | None
    session: datetime | None
    session_end: datetime | None
    case_id: str
    case: str
    environ: str
    nodes: str
    modules: str
    facts: str
    metric: str
    unit: str
    value: _Measured
    lower_is_better: bool
    digest: str


LOGGED, VALUES = columns(Logged), columns(Value)
#: Characters of a text at most.
MOST = {
    name: schema["maxLength"]
    for name, schema in json_schema(Logged)["properties"].items()
    if "maxLength" in schema
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
