"""What a reader of simulated values must know first: by what, how often, that none is tested."""

from __future__ import annotations

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Strong, Text
from roundtrip.report.data import Data

_PER_MFLOP = 1e6


def launches(data: Data) -> pl.DataFrame:
    """Simulated launches that completed: the columns of `Data.launches`."""
    came = data.launches.filter(pl.col("status") == "passed")
    return came.filter(pl.col("simulated").fill_null(False))


def notice(data: Data) -> Text | None:
    """For the top of the report; None where nothing is simulated.

    Two runs of a case are identical, or the collector has failed the second one.
    """
    mine = launches(data)
    if mine.is_empty():
        return None
    runs = mine.group_by("case_id").len()["len"]
    count, twice = units.plural(mine.height, "launch", "launches"), int((runs > 1).sum())
    proof = f"{twice} of {units.plural(len(runs), 'case')}: two runs, identical to the last digit. "
    return (
        Strong("SIMULATED: "),
        f"{count} did not run on real hardware; labelled throughout. Simulated by {_by(mine)}. "
        "A simulation gives the same values each time, so that nothing is tested and no interval "
        f"is drawn. {proof if twice else ''}No claim compares simulated values with measured ones.",
    )


def _by(mine: pl.DataFrame) -> str:
    """``SimGrid 3.32 on platform odin (hosts of 1000 Mflop/s, file 4716644c)``."""
    columns = [f"simulated_{name}" for name in ("simgrid", "platform", "host_flops")]
    found = mine.select(*columns, "simulated_platform_sha256").unique().sort(columns)
    told = []
    for (simgrid, name), rows in found.group_by(columns[:2], maintain_order=True):
        files = rows["simulated_platform_sha256"].unique()
        file = f"file {files[0][:8]}" if len(files) == 1 else f"{len(files)} files"
        speed = _speed(rows["simulated_host_flops"])
        told.append(f"SimGrid {simgrid} on platform {name} ({speed}, {file})")
    return "; ".join(told)


def _speed(host_flops: pl.Series) -> str:
    """``hosts of 200 to 1000 Mflop/s``; null: of a launch that sweeps them."""
    speeds = sorted(one / _PER_MFLOP for one in host_flops.drop_nulls())
    ends = dict.fromkeys(f"{speed:g}" for speed in (*speeds[:1], *speeds[-1:]))
    known = f"hosts of {' to '.join(ends)} Mflop/s" if speeds else ""
    swept = "hosts of all speeds swept" if host_flops.null_count() else ""
    return " and ".join(filter(None, (known, swept)))
