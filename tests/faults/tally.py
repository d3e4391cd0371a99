"""What the drill did and found, by kind of fault; printed when it ends."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

#: Why a test of the whole drill is skipped.
MANY = "one of many faults of its kind: make faults"


@dataclass
class Row:
    """Faults injected, and launches or invocations in which something went wrong after them.

    `resumed` counts runs that were completed exactly after such faults, of those `begun`.
    """

    injected: int = 0
    lost: int = 0
    doubled: int = 0
    false_green: int = 0
    begun: int = 0
    resumed: int = 0

    @property
    def breaches(self) -> int:
        return self.lost + self.doubled + self.false_green + self.begun - self.resumed


_HEAD = ("fault", "injected", "lost", "doubled", "false green", "resumed")


class Tally(defaultdict[str, Row]):
    """Rows by kind of fault."""

    def __init__(self) -> None:
        super().__init__(Row)

    def lines(self) -> list[str]:
        rows = [_cells(kind, row) for kind, row in sorted(self.items())]
        total = Row()
        for row in self.values():
            for name in vars(total):
                setattr(total, name, getattr(total, name) + getattr(row, name))
        table = [_HEAD, *rows, _cells("total", total)]
        if not total.injected:
            table.append(("no fault was injected", *[""] * (len(_HEAD) - 1)))
        widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
        return [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in table
        ]


def _cells(kind: str, row: Row) -> tuple[str, ...]:
    breaches = (row.lost, row.doubled, row.false_green)
    return (kind, str(row.injected), *map(str, breaches), f"{row.resumed}/{row.begun}")


#: Of this session.
TALLY = Tally()
