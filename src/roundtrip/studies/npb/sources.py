"""Our programs beside those of NPB 3.4: verdicts, rates, and warnings for the reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from roundtrip.report import units
from roundtrip.report.blocks import RATIO, Cell, Column, Table, Tone
from roundtrip.stats.verdicts import Judged, Verdict
from roundtrip.studies import cells
from roundtrip.studies.npb.data import Launches
from roundtrip.studies.npb.series import EMULATED
from roundtrip.studies.npb.speedup import NpbSources
from roundtrip.studies.study import Claim

_TONES: dict[Verdict, Tone] = {
    Verdict.FASTER: "good",
    Verdict.SLOWER: "bad",
    Verdict.ON_PAR: "muted",
    Verdict.CANNOT_TELL: "warn",
}
Compared = dict[NpbSources, Judged]


def compared(judged: Mapping[Claim, Judged]) -> Compared:
    """The verdicts on our programs against NPB's, in the order of the benchmarks."""
    found = [(key, one) for key, one in judged.items() if isinstance(key, NpbSources)]
    return dict(sorted(found, key=lambda item: (item[0].native.order, item[0].rtt or 0.0)))


def verdicts(launches: Launches, found: Compared) -> Table:
    """A row for each benchmark, class and place, and a column for each number of ranks."""
    ranks = sorted({key.native.ranks for key in found})
    rows: dict[tuple[str, str], dict[int, Cell]] = {}
    for key, one in found.items():
        row = rows.setdefault((key.native.name, _place(key)), {})
        row[key.native.ranks] = judged_cell(one, launches.traced(key.native, key.rtt))
    return Table(
        "Our programs against NPB 3.4: ratio of Mop/s in the same round, median and 95 % interval; "
        "below 1 ours is slower.",
        (
            Column("Benchmark"),
            Column("Where"),
            *(Column(units.plural(count, "rank"), "right", RATIO, "NPB 3.4") for count in ranks),
        ),
        tuple(
            (Cell(name), Cell(place), *(row.get(count, cells.NONE) for count in ranks))
            for (name, place), row in rows.items()
        ),
    )


def rates(launches: Launches, found: Compared) -> Table:
    """Both rates and their ratio."""
    rows = []
    for key, one in found.items():
        pair = (key.native, key.upstream)
        both = [launches.value(series, key.rtt, "rate") for series in pair]
        link = "" if key.rtt is None else f" {key.rtt:g} ms"
        ratio = judged_cell(one, both[0].series)
        rows.append((Cell(f"{key.native.label}{link}"), *both, ratio))
    return Table(
        "Our programs beside those of NPB 3.4 in the same place: Mop/s by NPB's own formula, and "
        "the ratio in the same round.",
        (
            Column("Benchmark and toolchain"),
            Column("Ours, Mop/s", "right"),
            Column("NPB 3.4, Mop/s", "right"),
            Column("Ours / NPB 3.4", "right", RATIO, "NPB 3.4"),
        ),
        tuple(rows),
    )


def warnings(found: Compared) -> Iterator[str]:
    """A line for each benchmark whose median is below that of NPB 3.4, link or not."""
    places = {_place(key) for key in found}
    for key, one in found.items():
        if one.interval.median >= 1:
            continue
        place = f", {_place(key)}" if len(places) > 1 else ""
        sure = "" if one.verdict == "slower" else f" ({one.verdict})"
        told = units.interval(one.interval)
        yield f"slower than official NPB 3.4: {key.native.case}{place}, {told}{sure}"


def judged_cell(one: Judged, series: str = "") -> Cell:
    """A ratio with its verdict; `series` as in `Cell`."""
    return cells.judged(one, _TONES, str(one.verdict), series)


def _place(key: NpbSources) -> str:
    series = key.native
    placed = series.placement if series.ranks > 1 else ""
    where = f"{series.toolchain}, {placed}" if placed else series.toolchain
    return where if key.rtt is None else f"{where}, {EMULATED} {key.rtt:g} ms"
