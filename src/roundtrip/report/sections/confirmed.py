"""The piece of the section on history that says what launches that were made again confirm."""

from __future__ import annotations

from collections.abc import Iterator

from roundtrip.report import units
from roundtrip.report.blocks import Block, Cell, Column, Fold, Heading, Paragraph, Table, Tone
from roundtrip.report.confirmation import Again, Confirmed
from roundtrip.stats.nights.confirmation import Beyond, Confirmation

_SHOWN = 12
_TONES: dict[Confirmation, Tone] = {
    Confirmation.CONFIRMED: "bad",
    Confirmation.MACHINE: "warn",
    Confirmation.NOT_CONFIRMED: "good",
}
_RULE = (
    "These cases were launched again in what was left of the night, on the same nodes where the "
    "scheduler had them in use, in rounds with unchanged series of the same study and toolchain, "
    "the controls. A launch counts if it is worse than "
    "what the nights before predict of one night. Confirmed: so many count that chance does it "
    "less often than the false discovery level allows (sign test, corrected over these series), "
    "and not more than half of the control's. These launches take no part in the night's values."
)


def blocks(again: Confirmed) -> Iterator[Block]:
    """One row for each series that was worse last night; nothing where nothing was asked."""
    if not again.series:
        return
    yield Heading(3, "Launched again")
    if again.why_not:
        yield Paragraph((again.sentence,))
        return
    yield Paragraph((_RULE,), is_note=True)
    rows = tuple(_row(one) for one in again.series.values())
    table = Table(
        "Launches that are worse than predicted, of those made again and not disturbed.",
        (
            Column("Series"),
            Column("Verdict"),
            Column("Worse launches", "right"),
            Column("Control"),
            Column("Its worse launches", "right"),
            Column("Launches on other nodes", "right"),
        ),
        rows,
    )
    yield table if len(rows) <= _SHOWN else Fold(f"{len(rows)} series", (table,))


def _row(one: Again) -> tuple[Cell, ...]:
    return (
        Cell(one.line.label, series=one.line.series.key),
        Cell(str(one.verdict), _TONES.get(one.verdict, "plain")),
        _beyond(one.found),
        Cell(one.control.label if one.control else "every series changed"),
        _beyond(one.of_control) if one.of_control else Cell(""),
        Cell(units.count(one.elsewhere)),
    )


def _beyond(one: Beyond) -> Cell:
    return Cell((units.count(one.beyond), f" of {one.launches}"))
