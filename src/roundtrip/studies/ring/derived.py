"""The ring study: quantities derived from the samples, and published results.

Time per pass
    median over a launch's batches of laps, seconds, for each case, transport and size.  One token
    is under way; a pass is its hand-over from one rank to the next.
Effective bandwidth
    bytes of the region x passes / elapsed = bytes / time per pass, MB/s = 10^6 bytes/s.  It is no
    transfer rate if the region is handed over in place, because nothing is transferred.
Fixed cost
    median of a region's time per pass over the sizes, seconds; that of the bare cache line is the
    time of a hand-over.
Flatness
    largest over smallest time per pass of a region over the sizes of one launch; 1 is flat.  In
    hand-overs, each time is first divided by that of the bare cache line at the same size: sizes
    are measured one after the other, and ranks that move to processors farther apart slow both.
Crossover
    smallest size from which on a region is faster than the other transport, interpolated in log
    size and log time; the first size if it is always faster, infinite if not at the largest size.
Read
    variant `<transport>-read`: every rank reads all bytes of the region, and changes a word in
    each 64 bytes for the next rank.
Ratio
    effective bandwidth of one transport over that of another, in one launch, case and size.

The study: elepar, "BCR Portable Performance", 2002.  Two 850 MHz Pentium III in one PC, a 266 MHz
PowerBook G3, a 10BASE-T hub.  Numbers are from its text; the 10BASE-T point is read off its figure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import polars as pl

from roundtrip.stats.summaries import LAUNCH_STATISTIC, MEDIAN, PERCENTILES, Summary, ValueKind
from roundtrip.studies.derivation import (
    NO_SERIES,
    AuditedLatency,
    AuditedRatio,
    AuditFacts,
    PairingScope,
    toolchain_speeds,
)
from roundtrip.studies.ring import CACHE_LINE, LAP_METRIC, PASS_METRIC, REGION, REGION_UDP

#: Variants in which the receiver reads every byte, by transport.
READ_VARIANT_BY_TRANSPORT = {name: f"{name}-read" for name in (REGION, "mpi-shm", "mpi", "pvm")}
#: MPI's two-sided calls, which the publication calls MPI, and the variant of the fastest one.
TWO_SIDED_VARIANTS, BEST_TWO_SIDED_VARIANT = ("mpi", "mpi-typed", "mpi-sync"), "best"
#: Sizes of which effective bandwidths in memory, and on 10BASE-T, are published, bytes.
PUBLISHED_BYTES, PUBLISHED_HUB_BYTES = 10_000, 1_000
_HEADLINE_BYTES = (10, 1_000, PUBLISHED_BYTES, 1_000_000)

#: Perf variables of a ReFrame check: unit, and the point whose time of a pass (us) or effective
#: bandwidth (MB/s) they are; None: they are made from several points.
_UNIT_AND_POINT_BY_PERF_VARIABLE: dict[str, tuple[str, tuple[str, int] | None]] = {
    "region_pass_10B": ("us", (REGION, 10)),
    "region_pass_10kB": ("us", (REGION, PUBLISHED_BYTES)),
    "region_pass_16MiB": ("us", (REGION, 16 << 20)),
    "region_flatness": ("1", None),
    "hand_over": ("us", None),
    "region_per_hand_over": ("1", None),
    "region_bandwidth_10kB": ("MB/s", (REGION, PUBLISHED_BYTES)),
    "mpi_bandwidth_10kB": ("MB/s", (BEST_TWO_SIDED_VARIANT, PUBLISHED_BYTES)),
    "region_over_mpi_10kB": ("1", None),
    "mpi_pass_10B": ("us", ("mpi", 10)),
    "pvm_bandwidth_10kB": ("MB/s", ("pvm", PUBLISHED_BYTES)),
    "region_udp_bandwidth_1kB": ("MB/s", (REGION_UDP, PUBLISHED_HUB_BYTES)),
    "region_read_bandwidth_10kB": ("MB/s", (READ_VARIANT_BY_TRANSPORT[REGION], PUBLISHED_BYTES)),
    "mpi_read_bandwidth_10kB": ("MB/s", (READ_VARIANT_BY_TRANSPORT["mpi"], PUBLISHED_BYTES)),
}
PERF_VARIABLE_UNITS = {name: unit for name, (unit, _) in _UNIT_AND_POINT_BY_PERF_VARIABLE.items()}
POINT_COLUMNS = ["case", "variant", "size_bytes"]
#: Summary of a launch's batches as one time per pass.
TIME_SUMMARY = Summary("time of a pass", ValueKind.COST, "the batches of a launch", MEDIAN)


_PUBLISHED_SIZES = (10, 100, 1_000, 10_000)
#: Published effective bandwidths, MB/s, by ranks on each node and size in bytes: two and three
#: ranks on two processors, and 10BASE-T.
PUBLISHED_MB_PER_S = {
    "2": {size: size / 2.8 for size in _PUBLISHED_SIZES},
    "3": {size: size / 5.6 for size in _PUBLISHED_SIZES},
    "1+1": {PUBLISHED_HUB_BYTES: 1.1},
}
#: Published fixed time per pass of two processes in one machine, seconds.
PUBLISHED_PASS_S = 2.8e-6


@dataclass(frozen=True)
class PublishedReason:
    """A published reason why messages cost, and pairs (transport, base) that isolate it here."""

    quotation: str
    short_title: str
    test_text: str
    pairs: tuple[tuple[str, str], ...]


PUBLISHED_REASONS = (
    PublishedReason(
        "Communication within MPI and PVM is based on moving the data from a user-specified buffer "
        "in the sender to a user-specified buffer in the receiver, even if the sender and receiver "
        "… share access to common memory.",
        "Copying costs",
        "One copy through shared memory against a region by reference, both with the same waiting.",
        (("mpi-shm", REGION),),
    ),
    PublishedReason(
        "Hidden “control” or “housekeeping” messages … eat up bandwidth and latency in the "
        "network.",
        "Control messages cost",
        "MPI_Ssend, which synchronises with the receiver on every message, against MPI_Send, "
        "which need not.",
        (("mpi-sync", "mpi"),),
    ),
    PublishedReason(
        "Communication within MPI and PVM includes processing of the data through a “type”, adding "
        "to the latency (or “overhead”) of communication.",
        "Type processing costs",
        "The same bytes described by a datatype (MPI) or converted to XDR (PVM), against raw "
        "bytes.",
        (("mpi-typed", "mpi"), ("pvm-xdr", "pvm")),
    ),
)


#: Overhead of one UDP datagram on Ethernet, bytes: preamble, header, checksum and gap 38, IP 20,
#: UDP 8.
FRAME_OVERHEAD_BYTES = 66


def theoretical_goodput(mbit_s: float, size: int) -> float:
    """MB/s that an Ethernet of `mbit_s` can carry in regions of `size` bytes, one per frame."""
    return mbit_s / 8 * size / (size + FRAME_OVERHEAD_BYTES)


def launch_medians(samples: pl.LazyFrame, by: list[str]) -> pl.DataFrame:
    """Median seconds per pass, and bandwidth (MB/s), of each `by` and POINT_COLUMNS; sorted."""
    keys = [*by, *POINT_COLUMNS]
    return (
        samples.filter(pl.col("metric") == PASS_METRIC)
        .group_by(keys)
        .agg(seconds=TIME_SUMMARY.aggregate("value"))
        .with_columns(bandwidth=pl.col("size_bytes") / pl.col("seconds") / 1e6)
        .sort(keys)
        .collect()
    )


def best_two_sided_medians(medians: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Rows of `medians` for MPI's fastest two-sided call at each point, BEST_TWO_SIDED_VARIANT."""
    two_sided = medians.filter(pl.col("variant").is_in(list(TWO_SIDED_VARIANTS))).sort("seconds")
    fastest = two_sided.unique([*by, "case", "size_bytes"], keep="first", maintain_order=True)
    return fastest.with_columns(variant=pl.lit(BEST_TWO_SIDED_VARIANT))


def crossover_bytes(seconds: Mapping[int, float], other_seconds: Mapping[int, float]) -> float:
    """Size (bytes) from which on `seconds` stay below `other_seconds`, both by ascending size."""
    sizes = [size for size in seconds if size in other_seconds]
    gains = [math.log(other_seconds[size] / seconds[size]) for size in sizes]
    if not gains or gains[-1] <= 0:
        return math.inf
    points = list(zip(sizes, gains, strict=True))
    for (low, low_gain), (high, high_gain) in reversed(list(pairwise(points))):
        if low_gain <= 0 < high_gain:
            return float(low * (high / low) ** (-low_gain / (high_gain - low_gain)))
    return float(sizes[0])


def flatness(seconds: Collection[float]) -> float:
    """Ratio of the largest time to the smallest, over sizes."""
    return max(seconds) / min(seconds)


def flatness_in_hand_overs(
    seconds: Mapping[int, float], floor_seconds: Mapping[int, float]
) -> float | None:
    """Flatness of `seconds` over those of the bare cache line; None if it lacks a size."""
    if not seconds.keys() <= floor_seconds.keys():
        return None  # over fewer sizes the ratio would look flatter than it is
    return flatness([time / floor_seconds[size] for size, time in seconds.items()])


def perf_variables(samples: pl.DataFrame) -> dict[str, float]:
    """The performance variables of one launch, by PERF_VARIABLE_UNITS; the measured ones only."""
    medians = launch_medians(samples.lazy(), [])
    rows = pl.concat([medians, best_two_sided_medians(medians, [])])
    seconds = {
        (variant, size): time
        for variant, size, time in rows.select("variant", "size_bytes", "seconds").iter_rows()
    }
    variables: dict[str, float] = {}
    for name, (unit, point) in _UNIT_AND_POINT_BY_PERF_VARIABLE.items():
        if point and (time := seconds.get(point)):
            variables[name] = time * 1e6 if unit == "us" else point[1] / time / 1e6
    region, floor = (
        [time for (variant, _), time in seconds.items() if variant == name]
        for name in (REGION, CACHE_LINE)
    )
    if region:
        variables["region_flatness"] = flatness(region)
    if floor:
        variables["hand_over"] = median(floor) * 1e6
    if region and floor:
        variables["region_per_hand_over"] = median(region) / median(floor)
    if "region_bandwidth_10kB" in variables and "mpi_bandwidth_10kB" in variables:
        ratio = variables["region_bandwidth_10kB"] / variables["mpi_bandwidth_10kB"]
        variables["region_over_mpi_10kB"] = ratio
    return variables


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Time per pass of MPI's two-sided call at the compared sizes: `SPEED_COLUMNS`; regions are not
    compared, as the same code passes them whatever the MPI library."""
    mpi_samples = samples.filter(pl.col("size_bytes").is_in(list(sizes)), variant="mpi")
    return toolchain_speeds(
        launch_medians(mpi_samples, ["launch"]),
        pl.concat_str(pl.lit("MPI two-sided, ring "), "case"),
        phase=None,
        metric=PASS_METRIC,
    )


def headline_speeds(samples: pl.LazyFrame) -> pl.DataFrame:
    """Time per pass of a region over all its sizes, and of MPI at some: `SPEED_COLUMNS`."""
    regions = launch_medians(samples.filter(variant=REGION), ["launch"])
    groups = regions.group_by("launch", "case", "variant", maintain_order=True)
    costs = groups.agg(pl.col("seconds").median())
    what = pl.concat_str(pl.lit("Region by reference, any size, ring "), "case")
    region_rows = toolchain_speeds(costs, what, **NO_SERIES)
    return pl.concat([region_rows, speeds(samples, _HEADLINE_BYTES)])


_PASS_SUMMARY = Summary("time of a pass", ValueKind.COST, "launches", LAUNCH_STATISTIC)

#: Facts about the section for the report's audit.
AUDIT_FACTS = AuditFacts(
    summaries=(
        TIME_SUMMARY,
        Summary("time of a pass", ValueKind.COST, "the sizes of a launch", MEDIAN),
        Summary("time of a lap", ValueKind.COST, "the laps of all launches", PERCENTILES),
        _PASS_SUMMARY,
        Summary("effective bandwidth", ValueKind.RATE, "launches", LAUNCH_STATISTIC),
    ),
    ratios=(
        AuditedRatio(
            "effective bandwidths of two transports",
            TIME_SUMMARY,
            PairingScope.LAUNCH,
            LAUNCH_STATISTIC,
        ),
        AuditedRatio("efficiency over nodes", _PASS_SUMMARY, PairingScope.UNPAIRED),
    ),
    latencies=(AuditedLatency("the time of a lap", {"metric": LAP_METRIC}),),
    clock="rank 0 reads its own clock",
    synchronisation=(
        "one token goes round, and laps before those that are timed bring all ranks along"
    ),
    over_ranks="a lap ends where it began, so that no clocks are compared",
    cache="as the lap before left them: what was passed is warm",
    build_columns=("mpi_library", "compiler", "compiler_flags"),
)
