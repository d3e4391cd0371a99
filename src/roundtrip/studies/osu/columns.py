"""The columns of OSU Micro-Benchmarks: told by their header, whatever their order.

Versions and options differ in columns and in order.  Only blanks part one name from the next, and
names hold blanks (``Bandwidth (MB/s) P50 Tail BW(MB/s)``), so they are recognised by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(
    r"(?P<size>Size)|(?P<sent>Transmit Size)|(?P<count>Iterations)|(?P<check>Validation)"
    r"|(?:(?P<of>Avg|Min|Max) )?(?P<time>Latency ?\(us\))"
    r"|(?:Bandwidth \()?(?P<rate>MB/s)\)?|(?P<messages>Messages/s)"
    r"|P(?P<part>\d+) Tail (?:(?P<tail_time>Lat\(us\))|(?P<tail_rate>BW\(MB/s\)))"
)
_STATISTICS = {"Avg": "average", "Min": "minimum", "Max": "maximum", None: "average"}
_SCALES = {"time": 1e-6, "rate": 1.0, "messages": 1.0}


@dataclass(frozen=True)
class Column:
    """What a column holds.

    `kind`: size, sent, count, check, time, rate or messages.  The last three are measured:
    `statistic` says of what, and times `scale` (0 for the others) it is s, MB/s or 1/s.
    """

    kind: str
    statistic: str = ""
    scale: float = 0.0


def recognise(header: str) -> tuple[list[Column], str]:
    """The columns of a header, and what is left of it: a name that is none of OSU's, or ""."""
    return [_column(found) for found in _NAME.finditer(header)], _NAME.sub("", header).strip()


def _column(found: re.Match[str]) -> Column:
    kind = str(found.lastgroup).removeprefix("tail_")
    if kind not in _SCALES:
        return Column(kind)
    statistic = f"p{found['part']}" if found["part"] else _STATISTICS[found["of"]]
    return Column(kind, statistic, _SCALES[kind])
