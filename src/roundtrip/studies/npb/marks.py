"""What was measured elsewhere and is marked in the figure of a sweep over host speeds.

    python -m roundtrip.studies.npb.marks reports/wan-marks/SITE/DATE/r1/bundle > marks.json

makes a file of marks from the bundle of a measured campaign, and names it there.  Rates are those
of one rank alone with our own programs, speed-ups those that the report of that bundle shows.  A
speed-up without the rate of one rank by the same toolchain is left out.

The file is given to the sweep, which copies what is of its benchmark and class into its run.json:
so a report still follows from its bundle alone.  No claim joins a mark with anything simulated.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from roundtrip import files, model
from roundtrip.errors import UserError
from roundtrip.report import data
from roundtrip.report.data import Data
from roundtrip.studies.npb import NATIVE, STUDY, MarksRecord
from roundtrip.studies.npb.data import Launches, Series
from roundtrip.studies.npb.speedup import headline, measured


@dataclass(frozen=True)
class Origin:
    """The night of a measured campaign: when it began, and the digest of its bundle."""

    campaign: str
    site: str
    started: str
    digest: str
    processor: str

    @property
    def label(self) -> str:
        """``wan-marks on virtual, 2026-11-22T14:11:20Z, bundle 5e5e5e5e``."""
        return f"{self.campaign} on {self.site}, {self.started}, bundle {self.digest[:8]}"


@dataclass(frozen=True)
class Alone:
    """How fast one rank of a processor is at a benchmark, Mop/s: median over `launches`."""

    origin: Origin
    benchmark: str
    problem_class: str
    toolchain: str
    mops: float
    launches: int


@dataclass(frozen=True)
class Emulated:
    """A speed-up over an emulated link, median and interval over `launches` rounds.

    `mops` is the rate of one rank alone in the same night; `is_separated`: computed from separated
    times, because ranks share processors.
    """

    origin: Origin
    benchmark: str
    problem_class: str
    toolchain: str
    ranks: int
    rtt_ms: float
    mops: float
    speedup: float
    low: float | None
    high: float | None
    is_separated: bool
    launches: int

    @property
    def setup(self) -> str:
        """``1 + 1 ranks``."""
        return f"{self.ranks // 2} + {self.ranks // 2} ranks"


@dataclass(frozen=True)
class Marks:
    """All that is marked in one figure, in order."""

    alone: tuple[Alone, ...] = ()
    emulated: tuple[Emulated, ...] = ()

    @property
    def origins(self) -> list[Origin]:
        """Where they are from, each once."""
        found = [one.origin for one in self.alone] + [one.origin for one in self.emulated]
        return list(dict.fromkeys(found))


def read(file: Path, benchmark: str, problem_class: str) -> dict[str, Any]:
    """What `file` has of a benchmark and class, as run.json keeps it; its origin is kept anyway.

    UserError for what is no file of marks.
    """
    content = files.read_json(file)
    if fault := model.fault(MarksRecord, content):
        raise UserError(f"no file of marks: {fault.where or 'the file'}: {fault.why}", file)
    wanted = {"benchmark": benchmark, "class": problem_class}
    return {
        name: [one for one in value if wanted.items() <= one.items()]
        if isinstance(value, list)
        else value
        for name, value in content.items()
    }


def from_record(entries: Iterable[Mapping[str, Any]] | None) -> Marks:
    """The marks that a launch tells in its `marks`."""
    alone: list[Alone] = []
    emulated: list[Emulated] = []
    for one in entries or ():
        names = "campaign", "site", "started", "digest", "processor"
        origin = Origin(*(str(one[name]) for name in names))
        alone += [Alone(origin, *_of(row), row["mops"], row["launches"]) for row in one["alone"]]
        emulated += [_emulated(origin, row) for row in one["emulated"]]
    order = sorted(emulated, key=lambda mark: (mark.ranks, mark.rtt_ms, mark.toolchain))
    return Marks(tuple(alone), tuple(order))


def _of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["benchmark"], row["class"], row["toolchain"]


def _emulated(origin: Origin, row: Mapping[str, Any]) -> Emulated:
    return Emulated(
        origin,
        *_of(row),
        ranks=row["ranks"],
        rtt_ms=row["rtt_ms"],
        mops=row["mops"],
        speedup=row["speedup"],
        low=row.get("low"),
        high=row.get("high"),
        is_separated=bool(row.get("separated")),
        launches=row["launches"],
    )


_DIGITS = 6


def from_bundle(bundle: Data) -> dict[str, Any]:
    """The marks of a bundle, as the file has them.

    UserError if it was simulated, or tells no rate of one rank, or several processors.
    """
    came = bundle.passed(STUDY.name)
    if came["simulated"].fill_null(False).any():
        raise UserError("it was simulated: only what was measured is marked", bundle.folder)
    launches = Launches(bundle)
    alone = {
        _series_key(series): _alone_mark(launches, series)
        for series in launches.inside
        if series.ranks == 1 and series.source == NATIVE
    }
    if not alone:
        raise UserError("it has no launch of NPB on one rank: how fast is one?", bundle.folder)
    emulated = [
        _emulated_mark(launches, series, rtt, alone[_series_key(series)]["mops"])
        for series in launches.over_the_link
        if series.source == NATIVE and _series_key(series) in alone
        for rtt in launches.points[series]
        if rtt is not None and headline(launches, series, rtt)
    ]
    manifest = bundle.manifest.data
    return {
        **{name: str(manifest[name]) for name in ("campaign", "site", "started")},
        "digest": bundle.manifest.digest,
        "processor": _processor(bundle, came["launch"].to_list()),
        "alone": list(alone.values()),
        "emulated": emulated,
    }


def _series_key(series: Series) -> tuple[str, str, str]:
    return series.benchmark, series.problem_class, series.environ


def _named(series: Series) -> dict[str, Any]:
    return {
        "benchmark": series.benchmark,
        "class": series.problem_class,
        "toolchain": series.toolchain,
    }


def _alone_mark(launches: Launches, series: Series) -> dict[str, Any]:
    rates = [one["rate"] for one in launches.points[series][None].values()]
    return {**_named(series), "launches": len(rates), "mops": _short(median(rates))}


def _emulated_mark(launches: Launches, series: Series, rtt: float, mops: float) -> dict[str, Any]:
    ratios = headline(launches, series, rtt)
    found = launches.interval(ratios)
    assert found is not None  # noqa: S101  there are ratios
    return {
        **_named(series),
        "ranks": series.ranks,
        "rtt_ms": rtt,
        "mops": mops,
        "speedup": _short(found.median),
        **({"low": _short(found.low), "high": _short(found.high)} if found.low else {}),
        "separated": ratios != measured(launches, series, rtt),
        "launches": len(ratios),
    }


def _processor(bundle: Data, names: list[str]) -> str:
    """Its name in the records of nodes, else in that of the host of the campaign."""
    nodes = bundle.nodes
    processors = {one for one in nodes.filter(nodes["launch"].is_in(names))["processor"] if one}
    if len(processors) > 1:
        listed = ", ".join(sorted(processors))
        raise UserError(f"several processors, so that no rate is of one: {listed}", bundle.folder)
    host = bundle.environment.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    model = cpu.get("model") if isinstance(cpu, dict) else None
    return next(iter(processors), None) or str(model or "a processor that the bundle does not name")


def _short(value: float | None) -> float:
    return float(f"{value:.{_DIGITS}g}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; status 2 and one line for what the user can mend."""
    parser = argparse.ArgumentParser(prog="marks", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("bundle", type=Path, help="of a measured campaign")
    asked = parser.parse_args(arguments)
    try:
        print(json.dumps(from_bundle(data.read(asked.bundle)), indent=1))
    except UserError as error:
        print(f"marks: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
