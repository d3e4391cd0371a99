"""A few figures of each study by which launches are compared with each other.

They tell what a disturbance did to a launch, and how far launches of one case lie apart.  A new
study adds its own here.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from roundtrip.studies.ddtbench import derived as ddtbench
from roundtrip.studies.netpipe import derived as netpipe
from roundtrip.studies.npb import derived as npb
from roundtrip.studies.osu import derived as osu
from roundtrip.studies.ring import derived as ring


@dataclass(frozen=True)
class Yardstick:
    """A figure: its name with its unit, and the rows of samples.csv that are its samples.

    `where` are columns and their values.  What is shown is `scale` times the sample, or with
    `bandwidth` the bytes of the message over it, in MB/s.
    """

    study: str
    name: str
    where: tuple[tuple[str, str | int], ...]
    scale: float = 1.0
    bandwidth: bool = False

    def samples(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Of `rows` of a bundle those of this figure, with the column `shown`."""
        matches = [pl.col(column) == value for column, value in self.where]
        shown = pl.col("value") * self.scale
        if self.bandwidth:
            shown = pl.col("size_bytes") / pl.col("value") / 1e6
        return rows.filter(pl.col("study") == self.study, *matches).with_columns(shown=shown)


_NETPIPE = (("variant", netpipe.BASE), ("phase", "measure"))
_RING = (("size_bytes", ring.STUDY_SIZE), ("metric", "time_per_pass"))

YARDSTICKS = (
    Yardstick(netpipe.STUDY, "raw MPI, time at 1 B, µs", (*_NETPIPE, ("size_bytes", 1)), scale=1e6),
    Yardstick(
        netpipe.STUDY,
        "raw MPI, bandwidth at 1 MiB, MB/s",
        (*_NETPIPE, ("size_bytes", 1 << 20)),
        bandwidth=True,
    ),
    Yardstick(
        ring.STUDY, "region, pass at 10 kB, µs", (*_RING, ("variant", ring.REGION)), scale=1e6
    ),
    Yardstick(ring.STUDY, "MPI, pass at 10 kB, µs", (*_RING, ("variant", "mpi")), scale=1e6),
    Yardstick(
        ddtbench.STUDY,
        "NAS_LU_x, 40800 B by datatype, µs",
        (("size_bytes", 40_800), ("variant", ddtbench.DDT), ("phase", "communication")),
        scale=1e6,
    ),
    Yardstick(
        osu.STUDY,
        "latency at 8 B, µs",
        (("case", "latency"), ("size_bytes", 8), ("phase", "average")),
        scale=1e6,
    ),
    Yardstick(
        osu.STUDY,
        "bw at 1 MiB, MB/s",
        (("case", "bw"), ("size_bytes", 1 << 20), ("phase", "average"), ("metric", "bandwidth")),
    ),
    Yardstick(npb.STUDY, "rate, Mop/s", (("phase", "total"), ("metric", "rate"))),
)


def by_launch(rows: pl.LazyFrame) -> pl.DataFrame:
    """All yardsticks that `rows` of a bundle have, one row a launch: columns number (of the
    yardstick), name, launch, case_id, case, variant, median and samples (both as shown, the latter
    in the order in which they were taken).
    """
    keys = ["launch", "case_id", "case", "variant"]
    frames = [
        yardstick.samples(rows)
        .sort("rep")
        .group_by(keys)
        .agg(median=pl.col("shown").median(), samples=pl.col("shown"))
        .with_columns(number=pl.lit(number), name=pl.lit(yardstick.name))
        for number, yardstick in enumerate(YARDSTICKS)
    ]
    return pl.concat(pl.collect_all(frames)).sort("number", *keys)
