"""What did not come back, what was disturbed, and what that changed."""

from __future__ import annotations

import polars as pl

from roundtrip.collect import silences
from roundtrip.collect.counts import Counts, of_rows
from roundtrip.report import labels, units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Heading,
    Paragraph,
    Part,
    Table,
    Tone,
    text_cells,
)
from roundtrip.report.data import Data
from roundtrip.studies import netpipe

_TONES: dict[str, Tone] = {"failed": "bad", "missing": "bad", "skipped": "muted"}
_POINTS = ((1, "latency at 1 B, µs"), (1 << 20, "bandwidth at 1 MiB, MB/s"))


def part(data: Data) -> Part:
    """Counts, losses, disturbances."""
    blocks: list[Block] = [_counts(data), *_unsealed(data), *_lost(data), *_silences(data)]
    blocks += _disturbed(data)
    return Part("launches", "Launches: what came back, and how", tuple(blocks))


def came_back(data: Data) -> Counts:
    """Launches asked for and launches that came back."""
    return of_rows(data.launches.select("case_id", "status", "wanted").iter_rows())


def counts(data: Data) -> dict[str, int]:
    """Launches by status."""
    found = {"passed": 0, "failed": 0, "missing": 0, "skipped": 0}
    for status, count in data.launches.group_by("status").len().iter_rows():
        found[status] = count
    return found


def _counts(data: Data) -> Table:
    rows = []
    for (case_id,), group in data.launches.group_by(["case_id"], maintain_order=True):
        status = group["status"]
        first = group.row(0, named=True)
        kind = labels.kind(first["emulated"], first["simulated"])
        row = [str((status == name).sum()) for name in ("passed", "failed", "missing", "skipped")]
        disturbed = str(group.filter(pl.col("disturbed").fill_null(False)).height)
        rows.append(text_cells(f"{case_id} {kind}".strip(), *row, disturbed))
    names = ("Came back", "Failed", "Missing", "Skipped", "Disturbed")
    return Table(
        "Every case of the campaign.",
        (Column("Case"), *(Column(name, "right") for name in names)),
        tuple(rows),
    )


def _unsealed(data: Data) -> list[Block]:
    """Says of which launches nothing proves that their samples are as they were written."""
    passed = data.launches.filter(pl.col("status") == "passed")
    count = passed.filter(~pl.col("sealed").fill_null(False)).height
    if not count:
        return []
    told = f"{units.plural(count, 'launch', 'launches')} of {passed.height}"
    verb = "is" if count == 1 else "are"
    reason = " not sealed: run.json has no digest of samples.csv to hold the rows against."
    return [Paragraph((f"{told} {verb}{reason}",))]


def _silences(data: Data) -> list[Block]:
    """When the scheduler did not answer; a bundle without such a record has nothing to say."""
    record = data.environment.get("scheduler.json")
    told = silences.recorded(record)
    if not told:
        return []
    why = "Launches that failed because of it were repeated and count against no case."
    return [Paragraph((f"{told}. {why}",))]


def _lost(data: Data) -> list[Block]:
    lost = data.launches.filter(pl.col("status") != "passed")
    heading = Heading(3, "Failed, missing and skipped")
    if lost.is_empty():
        return [heading, Paragraph(("Nothing: every expected launch came back.",))]
    rows = []
    keys = ["status", "case_id", "reason"]
    grouped = lost.group_by(keys, maintain_order=True).agg(pl.col("launch"))
    for status, case_id, reason, launches in grouped.iter_rows():
        named = launches[0] if len(launches) == 1 else f"{launches[0]} and {len(launches) - 1} more"
        rows.append(
            (
                Cell(case_id),
                Cell(status, _TONES.get(status, "warn")),
                *text_cells(reason or "no reason given", named),
            )
        )
    return [
        heading,
        Table(
            "Left out of every number above, each with its reason.",
            (Column("Case"), Column("Status"), Column("Reason"), Column("Launch")),
            tuple(rows),
        ),
    ]


def _disturbed(data: Data) -> list[Block]:
    passed = data.launches.filter(pl.col("status") == "passed")
    disturbed = passed.filter(pl.col("disturbed"))
    heading = Heading(3, "Disturbed launches")
    if disturbed.is_empty():
        return [heading, Paragraph(("None, by the thresholds printed below.",))]
    rows = tuple(
        text_cells(launch, toolchain, why)
        for launch, toolchain, why in disturbed.select(
            "launch", "toolchain", "disturbed_why"
        ).iter_rows()
    )
    listed = Table(
        "Something else than the benchmark had its hands on these.",
        (Column("Launch"), Column("Toolchain"), Column("Why")),
        rows,
    )
    told = (
        f"{units.plural(disturbed.height, 'launch', 'launches')} of {passed.height} marked as "
        "disturbed. They are kept in every number of this report."
    )
    effect = _effect(data)
    tables: list[Block] = [effect] if effect.rows else []
    return [heading, Paragraph((told,)), *tables, Fold("The disturbed launches", (listed,))]


def _effect(data: Data) -> Table:
    """Raw MPI's medians over all launches, and over the undisturbed ones."""
    samples = data.samples.filter(
        (pl.col("study") == netpipe.STUDY)
        & (pl.col("variant") == netpipe.BASE)
        & pl.col("size_bytes").is_in([size for size, _ in _POINTS])
    )
    facts = data.launches.select("launch", "toolchain", "disturbed", "emulated", "simulated")
    medians = netpipe.launch_medians(samples, ["launch", "case_id"]).join(facts, on="launch")
    rows = []
    for (_, case), group in medians.group_by(["case_id", "case"], maintain_order=True):
        if not group["disturbed"].any():
            continue
        first = group.row(0, named=True)
        kind = labels.kind(first["emulated"], first["simulated"])
        for size, name in _POINTS:
            every = group.filter(pl.col("size_bytes") == size)
            calm = every.filter(~pl.col("disturbed"))
            both = [_figure(frame, size) for frame in (every, calm)]
            title = f"{first['toolchain']} {kind}".strip()
            rows.append(text_cells(title, str(case), name, *both))
    return Table(
        "What leaving the disturbed launches out would change for raw MPI: median over launches.",
        (
            Column("Toolchain"),
            Column("Case"),
            Column("Figure"),
            Column("All launches", "right"),
            Column("Undisturbed only", "right"),
        ),
        tuple(rows),
    )


def _figure(medians: pl.DataFrame, size: int) -> str:
    if medians.is_empty():
        return "none left"
    column = medians["seconds"] * 1e6 if size == 1 else medians["bandwidth"]
    value = column.median()
    assert isinstance(value, float)  # noqa: S101  not empty, so there is a median
    return f"{units.number(value)} (n = {medians.height})"
