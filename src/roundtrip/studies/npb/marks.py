"""Values measured elsewhere that the figure of a sweep over host speeds marks.

    python -m roundtrip.studies.npb.marks reports/wan-marks/SITE/DATE/r1/bundle > marks.json

writes a file of marks from the bundle of a measured campaign, with its origin.  Rates are those
of one rank alone with our own programs, speed-ups those that the report of that bundle shows.  A
speed-up without the rate of one rank by the same toolchain is left out.

The file is given to the sweep, which copies what is of its benchmark and class into its run.json:
so a report still follows from its bundle alone.  No claim joins a mark with anything simulated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from roundtrip import files, model
from roundtrip.errors import UserError
from roundtrip.report import data
from roundtrip.report.data import Data
from roundtrip.studies.npb import NATIVE, STUDY, ReferenceNight, ReferenceRate, ReferenceSpeedup
from roundtrip.studies.npb.data import Launches, Series
from roundtrip.studies.npb.speedup import claimed_speedups, measured_speedups


def read_marks(file: Path, benchmark: str, problem_class: str) -> ReferenceNight:
    """Read the marks of a benchmark and class from `file`; without marks its origin is kept.

    UserError if it is not a file of marks.
    """
    content = files.read_json(file)
    if fault := model.fault(ReferenceNight, content):
        raise UserError(f"no file of marks: {fault.where or 'the file'}: {fault.why}", file)
    marks = ReferenceNight.model_validate(content)
    problem = benchmark, problem_class
    alone = [mark for mark in marks.alone if (mark.benchmark, mark.class_) == problem]
    emulated = [mark for mark in marks.emulated if (mark.benchmark, mark.class_) == problem]
    return marks.model_copy(update={"alone": alone, "emulated": emulated})


def marks_json(marks: ReferenceNight) -> dict[str, Any]:
    """Return marks as they are written to files of marks and run.json."""
    return marks.model_dump(by_alias=True, exclude_none=True)


_SIGNIFICANT_DIGITS = 6


def marks_from_bundle(bundle: Data) -> ReferenceNight:
    """The marks of a bundle.

    UserError if it was simulated, or has no rate of one rank, or several processors.
    """
    rows = bundle.study_launches(STUDY.name)
    if rows["simulated"].fill_null(False).any():
        raise UserError("it was simulated: only what was measured is marked", bundle.folder)
    launches = Launches(bundle)
    alone_marks = {
        (series.name, series.environ): _single_rank_rate(launches, series)
        for series in launches.cluster_series
        if series.ranks == 1 and series.source == NATIVE
    }
    if not alone_marks:
        raise UserError("it has no launch of NPB on one rank: how fast is one?", bundle.folder)
    emulated_marks: list[ReferenceSpeedup] = []
    for series in launches.link_series:
        alone = alone_marks.get((series.name, series.environ))
        if alone and series.source == NATIVE:
            emulated_marks += _reference_speedups(launches, series, alone.mops)
    manifest = bundle.manifest.data
    return ReferenceNight(
        **{name: str(manifest[name]) for name in ("campaign", "site", "started")},
        digest=bundle.manifest.digest,
        processor=_processor_name(bundle, rows["launch"].to_list()),
        alone=list(alone_marks.values()),
        emulated=emulated_marks,
    )


def _single_rank_rate(launches: Launches, series: Series) -> ReferenceRate:
    rates = [figures["rate"] for figures in launches.rounds(series, None).values()]
    return ReferenceRate(
        **_series_fields(series), launches=len(rates), mops=_round_number(median(rates))
    )


def _reference_speedups(
    launches: Launches, series: Series, mops: float
) -> Iterator[ReferenceSpeedup]:
    """Speed-ups of `series` at each RTT with a claimed one, for one rank that does `mops`."""
    for rtt in launches.points[series]:
        ratios = claimed_speedups(launches, series, rtt)
        if interval := launches.interval(ratios):
            yield ReferenceSpeedup(
                **_series_fields(series),
                ranks=series.ranks,
                rtt_ms=rtt or 0.0,
                mops=mops,
                speedup=_round_number(interval.median),
                low=None if interval.low is None else _round_number(interval.low),
                high=None if interval.high is None else _round_number(interval.high),
                separated=ratios != measured_speedups(launches, series, rtt),
                launches=len(ratios),
            )


def _series_fields(series: Series) -> dict[str, Any]:
    problem = {"benchmark": series.benchmark, "class": series.problem_class}
    return {**problem, "toolchain": series.toolchain}


def _processor_name(bundle: Data, names: list[str]) -> str:
    """Name in the records of nodes, else of the campaign's host; UserError if there are several."""
    nodes = bundle.nodes.filter(pl.col("launch").is_in(names))
    processors = set(filter(None, nodes["processor"]))
    if len(processors) > 1:
        text = ", ".join(sorted(processors))
        raise UserError(f"several processors, so that no rate is of one: {text}", bundle.folder)
    host = bundle.environment.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    cpu_model = cpu.get("model") if isinstance(cpu, dict) else None
    name = next(iter(processors), None) or cpu_model
    return str(name or "a processor that the bundle does not name")


def _round_number(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; print one line and return 2 on a user error."""
    parser = argparse.ArgumentParser(prog="marks", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("bundle", type=Path, help="of a measured campaign")
    options = parser.parse_args(arguments)
    try:
        print(json.dumps(marks_json(marks_from_bundle(data.read(options.bundle))), indent=1))
    except UserError as error:
        print(f"marks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
