"""Makes a file of marks from the bundle of a measured campaign.

    python -m roundtrip.studies.npb.markings reports/wan-marks/SITE/DATE/r1/bundle > marks.json

Rates are those of one rank alone with our own programs, speed-ups those that the report of that
bundle shows.  A speed-up without the rate of one rank by the same toolchain is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from roundtrip.errors import UserError
from roundtrip.report import data
from roundtrip.report.data import Data
from roundtrip.studies.npb import NATIVE, STUDY
from roundtrip.studies.npb.data import Launches, Series
from roundtrip.studies.npb.speedup import headline, measured

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
        _key(series): _alone(launches, series)
        for series in launches.inside
        if series.ranks == 1 and series.source == NATIVE
    }
    if not alone:
        raise UserError("it has no launch of NPB on one rank: how fast is one?", bundle.folder)
    emulated = [
        _emulated(launches, series, rtt, alone[_key(series)]["mops"])
        for series in launches.over_the_link
        if series.source == NATIVE and _key(series) in alone
        for rtt in launches.points[series]
        if rtt is not None and headline(launches, series, rtt)
    ]
    told = bundle.manifest.data
    return {
        **{name: str(told[name]) for name in ("campaign", "site", "started")},
        "digest": bundle.manifest.digest,
        "processor": _processor(bundle, came["launch"].to_list()),
        "alone": list(alone.values()),
        "emulated": emulated,
    }


def _key(series: Series) -> tuple[str, str, str]:
    return series.benchmark, series.problem_class, series.environ


def _named(series: Series) -> dict[str, Any]:
    return {
        "benchmark": series.benchmark,
        "class": series.problem_class,
        "toolchain": series.toolchain,
    }


def _alone(launches: Launches, series: Series) -> dict[str, Any]:
    rates = [one["rate"] for one in launches.points[series][None].values()]
    return {**_named(series), "launches": len(rates), "mops": _short(median(rates))}


def _emulated(launches: Launches, series: Series, rtt: float, mops: float) -> dict[str, Any]:
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
    """Its name, as the nodes told it, else as the host of the campaign did."""
    nodes = bundle.nodes
    told = {one for one in nodes.filter(nodes["launch"].is_in(names))["processor"] if one}
    if len(told) > 1:
        listed = ", ".join(sorted(told))
        raise UserError(f"several processors, so that no rate is of one: {listed}", bundle.folder)
    host = bundle.environment.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    model = cpu.get("model") if isinstance(cpu, dict) else None
    return next(iter(told), None) or str(model or "a processor that the bundle does not name")


def _short(value: float | None) -> float:
    return float(f"{value:.{_DIGITS}g}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; status 2 and one line for what the user can mend."""
    parser = argparse.ArgumentParser(prog="markings", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("bundle", type=Path, help="of a measured campaign")
    asked = parser.parse_args(arguments)
    try:
        print(json.dumps(from_bundle(data.read(asked.bundle)), indent=1))
    except UserError as error:
        print(f"markings: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
