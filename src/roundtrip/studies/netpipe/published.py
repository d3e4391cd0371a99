"""The figure of the Boost.MPI study, and what the study says about it.

Boost.MPI documentation, "Performance Evaluation" (D. Gregor and M. Troyer, 2005-2007): NetPIPE
3.6.2 on the Odin cluster of Indiana University (2 AMD Opteron a node, InfiniBand), Open MPI 1.1,
Boost 1.35.0 prerelease, Intel C++ 9.0.  Values were read off the published figure by eye, about
+-10 %.  Its axis is labelled "MB/s"; but 1.4 at 1 byte is a half round trip of 0.7 us in MB/s,
which no network of 2005 had, and of 5.4 us in NetPIPE's own unit, Mbit/s of 2^20 bits.  So the
values are taken as that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

SOURCE = "read off the published figure, ±10 %"
SIZES = (1, 10, 100, 1_000, 8_000, 12_000, 100_000, 1_000_000, 8_000_000)
_FUNDAMENTAL = (1.4, 13.0, 115.0, 750.0, 2650.0, 2150.0, 3700.0, 4700.0, 4300.0)
_DATATYPE = (1.4, 11.0, 48.0, 76.0, 82.0, 83.0, 100.0, 150.0, 160.0)
_SERIALIZED = (0.019, 0.13, 0.7, 3.4, 8.2, 8.8, 10.5, 11.0)

#: Mbit/s (2^20 bit/s) at SIZES; the serialized curve ends before the last size.
MEGABITS = {
    "mpi": _FUNDAMENTAL,
    "boost": _FUNDAMENTAL,
    "mpi-datatype": _DATATYPE,
    "boost-datatype": _DATATYPE,
    "boost-serialized": _SERIALIZED,
}


@dataclass(frozen=True)
class Statement:
    """A finding of the study in its own words, and which ratio speaks to it.

    `variant` over `base`; `expects` is "on par", "slower" or "greatly slower".  `subject` costs
    something `over` another, in the words of an answer.
    """

    words: str
    short: str
    variant: str
    base: str
    expects: str
    subject: str
    over: str


STATEMENTS = (
    Statement(
        "Boost.MPI performs on par with MPI for fundamental types.",
        "Boost.MPI against MPI",
        "boost",
        "mpi",
        "on par",
        "Boost.MPI",
        "raw MPI",
    ),
    Statement(
        "Boost.MPI performs on par with MPI for derived data types.",
        "Datatypes: Boost.MPI against MPI",
        "boost-datatype",
        "mpi-datatype",
        "on par",
        "Boost.MPI with derived datatypes",
        "MPI's",
    ),
    Statement(
        "Overall performance for derived data types is significantly worse than for fundamental "
        "data types, but the bottleneck is in the underlying MPI implementation itself.",
        "MPI: datatypes against bytes",
        "mpi-datatype",
        "mpi",
        "slower",
        "MPI with derived datatypes",
        "MPI with bytes",
    ),
    Statement(
        "When forcing Boost.MPI to serialize characters individually, performance suffers greatly.",
        "Serialized against MPI",
        "boost-serialized",
        "mpi",
        "greatly slower",
        "Serializing every byte",
        "raw MPI",
    ),
)


def megabytes_per_second(megabits: float) -> float:
    """MB/s (10^6 bytes/s) from NetPIPE's Mbit/s (2^20 bit/s)."""
    return megabits * 2**20 / 8 / 1e6


def curve(variant: str) -> list[tuple[int, float]]:
    """(bytes, MB/s) of one variant in the published figure."""
    values = MEGABITS[variant]
    return [(size, megabytes_per_second(v)) for size, v in zip(SIZES, values, strict=False)]


def rate(variant: str, size: int) -> float | None:
    """MB/s of the published figure at `size`, interpolated log-log; None outside of its points.

    Sizes up to a tenth beyond the last point take its value (1 MiB is read at 1 000 000 bytes).
    """
    points = curve(variant)
    for (low, rate_low), (high, rate_high) in pairwise(points):
        if low <= size <= high:
            part = math.log(size / low) / math.log(high / low)
            return float(rate_low * (rate_high / rate_low) ** part)
    last, rate_last = points[-1]
    return rate_last if last < size <= 1.1 * last else None
