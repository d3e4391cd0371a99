"""The ring study: quantities derived from the samples, and results that the study published.

Time per pass
    median over a launch's batches of laps, seconds, for each case, transport and size.  One token
    is under way; a pass is its hand-over from one rank to the next.
Effective bandwidth
    bytes of the region x passes / elapsed = bytes / time per pass, MB/s = 10^6 bytes/s.  It is no
    transfer rate if the region is handed over in place, because nothing is transferred.
Fixed cost
    median of a region's time per pass over the sizes, seconds.
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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import polars as pl

from roundtrip.stats.summaries import MEDIAN, OVER_LAUNCHES, PERCENTILES, Kind, Summary
from roundtrip.studies.derivation import ORIGIN, Facts, Pairing, Ratio, Tail, toolchain_speeds
from roundtrip.studies.ring import ARMS, FLOOR, LAP, METRIC, REGION, REGION_UDP

#: Transports that are also timed with every byte read: see `read_variant`.
READ_TRANSPORTS = (REGION, "mpi-shm", "mpi", "pvm")
#: MPI's two-sided calls, which the study calls MPI.
TWO_SIDED = ("mpi", "mpi-typed", "mpi-sync")
#: Size at which the study gives its effective bandwidth, bytes.
STUDY_SIZE = 10_000
_HEADLINE_SIZES = (10, STUDY_SIZE, 1_000_000)

#: Perf variables of a ReFrame check and their units.
SUMMARY_UNITS = {
    "region_pass_10B": "us",
    "region_pass_10kB": "us",
    "region_pass_16MiB": "us",
    "region_flatness": "1",
    "hand_over": "us",
    "region_per_hand_over": "1",
    "region_bandwidth_10kB": "MB/s",
    "mpi_bandwidth_10kB": "MB/s",
    "region_over_mpi_10kB": "1",
    "mpi_pass_10B": "us",
    "pvm_bandwidth_10kB": "MB/s",
    "region_udp_bandwidth_1kB": "MB/s",
    "region_read_bandwidth_10kB": "MB/s",
    "mpi_read_bandwidth_10kB": "MB/s",
}
POINT = ["case", "variant", "size_bytes"]
#: Summary of a launch's batches as one time per pass.
SECONDS = Summary("time of a pass", Kind.COST, "the batches of a launch", MEDIAN)


@dataclass(frozen=True)
class PublishedLine:
    """A configuration of the study, its ranks on each node, and its effective bandwidths."""

    name: str
    ranks_on_nodes: str
    points: tuple[tuple[int, float], ...]  # (bytes, MB/s)


_SIZES = (10, 100, 1_000, 10_000)
PUBLISHED_LINES = (
    PublishedLine("2 on 2 processors", "2", tuple((n, n / 2.8) for n in _SIZES)),
    PublishedLine("3 on 2 processors", "3", tuple((n, n / 5.6) for n in _SIZES)),
    PublishedLine("10BASE-T", "1+1", ((1_000, 1.1),)),
)
#: Fixed time per pass that the study gives for two processes in one machine, seconds.
PUBLISHED_PASS = 2.8e-6


@dataclass(frozen=True)
class Statement:
    """A reason that the study gives, and the pairs (transport, base) that isolate it here."""

    words: str
    short: str
    test: str
    pairs: tuple[tuple[str, str], ...]


STATEMENTS = (
    Statement(
        "Communication within MPI and PVM is based on moving the data from a buffer in the sender "
        "to a buffer in the receiver, even if they share access to common memory.",
        "Copying costs",
        "One copy through shared memory against a region by reference, both with the same waiting.",
        (("mpi-shm", REGION),),
    ),
    Statement(
        "Hidden “control” or “housekeeping” messages eat up bandwidth and latency.",
        "Control messages cost",
        "MPI_Ssend, which must agree with the receiver on every message, against MPI_Send, which "
        "may do without.",
        (("mpi-sync", "mpi"),),
    ),
    Statement(
        "Communication within MPI and PVM includes processing of the data through a “type”, adding "
        "to the latency of communication.",
        "Type processing costs",
        "The same bytes described by a datatype (MPI) or converted to XDR (PVM), against raw "
        "bytes.",
        (("mpi-typed", "mpi"), ("pvm-xdr", "pvm")),
    ),
)


#: Overhead of one UDP datagram on Ethernet, bytes: preamble, header, checksum and gap 38, IP 20,
#: UDP 8.
FRAME_OVERHEAD = 66


def theoretical_goodput(mbit_s: float, size: int) -> float:
    """MB/s that an Ethernet of `mbit_s` can carry in regions of `size` bytes, one per frame."""
    return mbit_s / 8 * size / (size + FRAME_OVERHEAD)


def read_variant(transport: str) -> str:
    """Name of a transport's variant in which receivers read every byte."""
    return f"{transport}-read"


def title(variant: str, shared_passes: int, network_passes: int) -> str:
    """The displayed name of a transport.

    `shared_passes` and `network_passes`: passes of a lap inside nodes and between nodes.
    """
    if not network_passes or variant not in (REGION, REGION_UDP):
        return ARMS[variant].title if variant in ARMS else variant
    carrier = "UDP" if variant == REGION_UDP else "MPI's messages"
    return (
        f"Region by reference in a node and by {carrier} between"
        if shared_passes
        else f"Region by {carrier}"
    )


def launch_medians(samples: pl.LazyFrame, by: list[str]) -> pl.DataFrame:
    """Median time per pass of each (`by`, case, variant, size_bytes).

    Columns: these, seconds, samples (their number) and bandwidth (MB/s); sorted.
    """
    keys = [*by, *POINT]
    return (
        samples.filter(pl.col("metric") == METRIC)
        .group_by(keys)
        .agg(seconds=SECONDS.aggregate("value"), samples=pl.len().cast(pl.Int64))
        .with_columns(bandwidth=pl.col("size_bytes") / pl.col("seconds") / 1e6)
        .sort(keys)
        .collect()
    )


def best_two_sided(medians: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Rows of `medians` for MPI's fastest two-sided call at each point, as variant "best"."""
    keys = [*by, "case", "size_bytes"]
    return (
        medians.filter(pl.col("variant").is_in(list(TWO_SIDED)))
        .sort("seconds")
        .group_by(keys, maintain_order=True)
        .first()
        .with_columns(variant=pl.lit("best"))
        .select(medians.columns)
    )


def crossover(sizes: list[int], seconds: list[float], other_seconds: list[float]) -> float:
    """The size in bytes from which on `seconds` stays below `other_seconds`; sizes ascend."""
    gains = [math.log(o / s) for s, o in zip(seconds, other_seconds, strict=True)]
    if not gains or gains[-1] <= 0:
        return math.inf
    points = list(zip(sizes, gains, strict=True))
    for (low, low_gain), (high, high_gain) in reversed(list(pairwise(points))):
        if low_gain <= 0 < high_gain:
            return float(low * (high / low) ** (-low_gain / (high_gain - low_gain)))
    return float(sizes[0])


def fixed_cost(seconds: Iterable[float]) -> float:
    """Median over the sizes, seconds; for the bare cache line, the time of a hand-over."""
    return median(seconds)


def flatness(seconds: Collection[float]) -> float:
    """Ratio of the largest time to the smallest."""
    return max(seconds) / min(seconds)


def flatness_in_hand_overs(
    seconds: Mapping[int, float], floor_seconds: Mapping[int, float]
) -> float | None:
    """Flatness of `seconds` over `floor_seconds` of the bare cache line, both by size in bytes.

    None if `floor_seconds` lacks a size.
    """
    if not seconds.keys() <= floor_seconds.keys():
        return None  # over fewer sizes the ratio would look flatter than it is
    return flatness([time / floor_seconds[size] for size, time in seconds.items()])


def summary(samples: pl.DataFrame) -> dict[str, float]:
    """Figures of one launch, named as in SUMMARY_UNITS; figures not measured are absent."""
    medians = launch_medians(samples.lazy(), [])
    seconds = {
        (row["variant"], row["size_bytes"]): row["seconds"] for row in medians.iter_rows(named=True)
    }
    figures: dict[str, float] = {}
    for name, key in (
        ("region_pass_10B", (REGION, 10)),
        ("region_pass_10kB", (REGION, STUDY_SIZE)),
        ("region_pass_16MiB", (REGION, 16 << 20)),
        ("mpi_pass_10B", ("mpi", 10)),
    ):
        if key in seconds:
            figures[name] = seconds[key] * 1e6
    region = [value for (variant, _), value in seconds.items() if variant == REGION]
    floor = [value for (variant, _), value in seconds.items() if variant == FLOOR]
    if region:
        figures["region_flatness"] = flatness(region)
    if floor:
        figures["hand_over"] = fixed_cost(floor) * 1e6
    if region and floor:
        figures["region_per_hand_over"] = fixed_cost(region) / fixed_cost(floor)
    two_sided = [seconds[t, STUDY_SIZE] for t in TWO_SIDED if (t, STUDY_SIZE) in seconds]
    for name, time in (
        ("region", seconds.get((REGION, STUDY_SIZE))),
        ("mpi", min(two_sided, default=None)),
        ("pvm", seconds.get(("pvm", STUDY_SIZE))),
        ("region_read", seconds.get((read_variant(REGION), STUDY_SIZE))),
        ("mpi_read", seconds.get((read_variant("mpi"), STUDY_SIZE))),
    ):
        if time is not None:
            figures[f"{name}_bandwidth_10kB"] = STUDY_SIZE / time / 1e6
    if (REGION_UDP, 1_000) in seconds:
        figures["region_udp_bandwidth_1kB"] = 1_000 / seconds[REGION_UDP, 1_000] / 1e6
    if "region_bandwidth_10kB" in figures and "mpi_bandwidth_10kB" in figures:
        ratio = figures["region_bandwidth_10kB"] / figures["mpi_bandwidth_10kB"]
        figures["region_over_mpi_10kB"] = ratio
    return figures


def speeds(samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """Time per pass of MPI's two-sided call at the compared sizes: columns SPEEDS.

    Regions are not compared, because the same code passes them whatever the MPI library.
    """
    mpi_samples = samples.filter(
        (pl.col("variant") == "mpi") & pl.col("size_bytes").is_in(list(sizes))
    )
    return toolchain_speeds(
        launch_medians(mpi_samples, ["launch"]),
        pl.concat_str(pl.lit("MPI two-sided, ring "), "case"),
        phase=None,
        metric=METRIC,
    )


def headline(samples: pl.LazyFrame) -> pl.DataFrame:
    """Time per pass of a region, the median over its sizes, and of MPI's two-sided call at
    `_HEADLINE_SIZES`: columns SPEEDS.
    """
    regions = launch_medians(samples.filter(variant=REGION), ["launch"])
    costs = regions.group_by("launch", "case", "variant", maintain_order=True).agg(
        pl.col("seconds").median()
    )
    region_rows = toolchain_speeds(
        costs,
        pl.concat_str(pl.lit("Region by reference, any size, ring "), "case"),
        size_bytes=None,
        **dict.fromkeys(ORIGIN),
    )
    return pl.concat([region_rows, speeds(samples, _HEADLINE_SIZES)])


_PASS = Summary("time of a pass", Kind.COST, "launches", OVER_LAUNCHES)

#: Facts about the section for the report's audit.
FACTS = Facts(
    summaries=(
        SECONDS,
        Summary("time of a pass", Kind.COST, "the sizes of a launch", MEDIAN),
        Summary("time of a lap", Kind.COST, "the laps of all launches", PERCENTILES),
        _PASS,
        Summary("effective bandwidth", Kind.RATE, "launches", OVER_LAUNCHES),
    ),
    ratios=(
        Ratio("effective bandwidths of two transports", SECONDS, Pairing.LAUNCH, OVER_LAUNCHES),
        Ratio("efficiency over nodes", _PASS, Pairing.UNPAIRED),
    ),
    tails=(Tail("the time of a lap", {"metric": LAP}),),
    clock="rank 0 reads its own clock",
    synchronisation=(
        "one token goes round, and laps before those that are timed bring all ranks along"
    ),
    over_ranks="a lap ends where it began, so that no clocks are compared",
    cache="as the lap before left them: what was passed is warm",
    build_columns=("mpi_library", "compiler", "compiler_flags"),
)
