"""Measures of launches between pairs of nodes: latency, its tail, bandwidth, and failures.

A measure combines all series of a launch that show the same quantity: the difference of each from
the median over all pairs of the night, so that launches may lack sizes.  The tail is the mean of
the messages over their median: lost packets are too rare to change a median, and cost far more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from roundtrip.history.night_rows import PAIRS
from roundtrip.measure.bundle_rows import SERIES
from roundtrip.measure.manifest import Manifest
from roundtrip.sites.launching import ON_SOCKETS
from roundtrip.stats.settings import NodeSettings
from roundtrip.studies.derivation import METRICS

LATENCY, TAIL, BANDWIDTH = "latency", "tail", "bandwidth"
#: Whether the launch failed: its excess is 1 if it did, else 0.
FAILURE = "failure"
#: Parameters of a launch's check that mark a campaign over pairs: the round of the whole design,
#: and the round of the night.
ROUND, NIGHT_ROUND = "pair_round", "pair_night_round"
#: The plan of the rounds, a file in bundles of such campaigns.
PLAN = "env/pairs.json"
#: With fewer messages a launch has no tail.
_LEAST_MESSAGES = 30
_GROUP = ["study", "place", "environ", "is_alone"]
#: The key of a series without the phase: all measured values are of one.
_SERIES = [name for name in SERIES if name != "phase"]
LOWER_IS_BETTER = {name: metric.lower_is_better for name, metric in METRICS.items()}


def paired_launches(parameters: pl.DataFrame) -> pl.Series:
    """The launches of a campaign over pairs; `parameters` has the columns launch and name."""
    return parameters.filter(pl.col("name") == ROUND)["launch"].unique()


def measure_pairs(
    samples: pl.LazyFrame,
    frames: Mapping[str, pl.DataFrame],
    settings: NodeSettings,
    bundle_manifest: Manifest,
) -> pl.DataFrame:
    """Columns `PAIRS`, by launch; `samples` and `frames` are tables of a bundle."""
    all_launches = _launches(frames)
    passed_launches = all_launches.filter(~pl.col("failed"))
    if all_launches.is_empty():
        return pl.DataFrame(schema=PAIRS)
    size = pl.col("size_bytes")
    small, large = size <= settings.small_bytes, size >= settings.large_bytes
    is_time, is_rate = pl.col("unit") == "s", pl.col("unit") == "MB/s"
    is_passed = pl.col("launch").is_in(passed_launches["launch"].to_list())
    medians = (
        samples.filter(is_passed, pl.col("phase") == "measure", pl.col("value") > 0)
        .filter((is_time & (small | large)) | (is_rate & large))
        .group_by("launch", *_SERIES, "unit")
        .agg(median=pl.col("value").median(), mean=pl.col("value").mean(), n=pl.len())
        .collect()
        .filter(pl.col("size_bytes").max().over("launch", "case") > 0)
        .join(passed_launches, on="launch")
    )
    lower_is_better = pl.col("metric").replace_strict(
        LOWER_IS_BETTER, default=True, return_dtype=pl.Boolean
    )
    cost = pl.when(lower_is_better).then(pl.col("median").log()).otherwise(-pl.col("median").log())
    usual = pl.col("median").median().over(*_GROUP, *_SERIES)
    excesses = medians.with_columns(
        excess=cost - cost.median().over(*_GROUP, *_SERIES),
        usual=usual,
        measure=pl.when(small).then(pl.lit(LATENCY)).otherwise(pl.lit(BANDWIDTH)),
    )
    rows = [_centres(excesses), _tails(medians.filter(is_time & small)), _failures(all_launches)]
    return (
        pl.concat(rows)
        .join(all_launches, on=["launch", *_GROUP])
        .with_columns(
            night=pl.lit(bundle_manifest.data["started"]), digest=pl.lit(bundle_manifest.digest)
        )
        .select(*PAIRS)
        .sort("launch", "measure")
    )


def _launches(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Launches on one or two nodes that passed or failed: columns of `PAIRS`, is_alone, failed."""
    parameters = frames["parameters"]
    round_rows = parameters.filter(pl.col("name").is_in([ROUND, NIGHT_ROUND]))
    placement_rows = parameters.filter(
        pl.col("name") == "placement", pl.col("value").is_in(ON_SOCKETS)
    )
    sockets = placement_rows.select("launch", on=pl.format(", {}", "value"))
    rounds = round_rows.select("launch", "name", "number").sort("launch", "name")
    # The round of the night, whose launches are near in time, is first in the order of names.
    rounds = rounds.group_by("launch", maintain_order=True).agg(round=pl.col("number").first())
    switches = (
        frames["placement"]
        .select("launch", "host", "switch")
        .unique(["launch", "host"], keep="first", maintain_order=True)
    )
    is_known = pl.col("status").is_in(["passed", "failed"])
    outcomes = frames["cases"].filter(is_known).join(rounds, on="launch")
    outcomes = outcomes.join(sockets, on="launch", how="left")
    has_one_down = (pl.col("status") == "failed") & (pl.col("nodes_down").list.len() == 1)
    hosts = pl.col("hosts").list.unique(maintain_order=True)
    rows = outcomes.filter(hosts.list.len().is_between(1, 2)).select(
        "launch",
        pl.col("round").cast(pl.Int64, strict=False).fill_null(0),
        "study",
        "environ",
        place=pl.format("{}:{}{}", "system", "partition", pl.col("on").fill_null("")),
        host=hosts.list.get(0),
        other=hosts.list.get(1, null_on_oob=True).fill_null(""),
        down=pl.when(has_one_down).then(pl.col("nodes_down").list.first()),
        is_alone=hosts.list.len() == 1,
        failed=pl.col("status") == "failed",
    )
    for name, column in (("switch", "host"), ("other_switch", "other")):
        host_switches = switches.rename({"host": column, "switch": name})
        rows = rows.join(host_switches, on=["launch", column], how="left")
    return rows.with_columns(pl.col("switch", "other_switch").fill_null(""))


def _centres(excesses: pl.DataFrame) -> pl.DataFrame:
    """Latency and bandwidth of each launch; the level is from the smallest or the largest size."""
    is_time = pl.col("unit") == "s"
    ends = excesses.group_by(*_GROUP, "measure").agg(
        end=pl.when(pl.col("measure").first() == LATENCY)
        .then(pl.col("size_bytes").min())
        .otherwise(pl.col("size_bytes").max())
    )
    rate = pl.when(is_time).then(pl.col("size_bytes") / pl.col("usual") / 1e6).otherwise("usual")
    level = pl.when(pl.col("measure") == LATENCY).then("usual").otherwise(rate)
    end_rows = excesses.join(ends, on=[*_GROUP, "measure"]).filter(
        pl.col("size_bytes") == pl.col("end")
    )
    levels = end_rows.group_by(*_GROUP, "measure").agg(level=level.median())
    excess = excesses.group_by("launch", *_GROUP, "measure").agg(pl.col("excess").median())
    unit = pl.when(pl.col("measure") == LATENCY).then(pl.lit("s")).otherwise(pl.lit("MB/s"))
    return excess.join(levels, on=[*_GROUP, "measure"]).with_columns(unit=unit).select(*_ROW)


def _tails(small: pl.DataFrame) -> pl.DataFrame:
    """Mean over median of each launch, over all its short messages."""
    ratio = (pl.col("mean") / pl.col("median") * pl.col("n")).sum() / pl.col("n").sum()
    tails = small.group_by("launch", *_GROUP).agg(tail=ratio.log(), n=pl.col("n").sum())
    usual = pl.col("tail").median().over(*_GROUP)
    return (
        tails.filter(pl.col("n") >= _LEAST_MESSAGES)
        .with_columns(measure=pl.lit(TAIL), unit=pl.lit("1"))
        .with_columns(excess=pl.col("tail") - usual, level=usual.exp())
        .select(*_ROW)
    )


def _failures(launches: pl.DataFrame) -> pl.DataFrame:
    """Whether each launch failed; the level is the share of failed launches."""
    failure = pl.col("failed").cast(pl.Float64)
    return launches.with_columns(
        measure=pl.lit(FAILURE),
        excess=failure,
        level=failure.mean().over(*_GROUP),
        unit=pl.lit("1"),
    ).select(*_ROW)


_ROW: Sequence[str] = ("launch", *_GROUP, "measure", "excess", "level", "unit")
