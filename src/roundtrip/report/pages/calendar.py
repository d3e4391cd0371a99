"""The nights of a page: their numbers, their labels, and which is near which."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime, timezone

#: A step is placed by an estimate: what changed so many nights earlier or later may explain it.
_NEAR = 2
_DAY = 86_400


class Calendar:
    """Nights in time order, each named by its start (UTC, ISO 8601)."""

    def __init__(self, nights: Sequence[str]) -> None:
        self.nights = list(nights)
        self._index = {night: index for index, night in enumerate(self.nights)}
        # Two runs of one day need the time of day to be distinguished.
        self._has_times = len({night[:10] for night in self.nights}) < len(self.nights)

    def __contains__(self, night: object) -> bool:
        return night in self._index

    def index(self, night: str) -> int:
        """Counted from 0."""
        return self._index[night]

    def number(self, night: str) -> int:
        """Counted from 1, as people count."""
        return self._index[night] + 1

    def label(self, night: str) -> str:
        """Its date, with the time of day where a day has two nights."""
        return f"{night[:10]} {night[11:19]}".strip() if self._has_times else night[:10]

    def before(self, moment: str, *, inclusive: bool = True) -> int:
        """How many nights began before a date or time, that day or second itself `inclusive`."""
        cut = [night[: len(moment)] for night in self.nights]
        return sum(one < moment or (inclusive and one == moment) for one in cut)

    def describe(self, night: str) -> str:
        """Its number and its label."""
        return f"night {self.number(night)}, {self.label(night)}"

    def day(self, night: str) -> float:
        """Days since 1970, with four decimals."""
        start = datetime.fromisoformat(night.replace("Z", "+00:00"))
        if start.tzinfo is None:
            start = start.replace(tzinfo=timezone.utc)  # noqa: UP017
        return round(start.timestamp() / _DAY, 4)

    def near(self, night: str, wanted: Container[str]) -> str | None:
        """That of the `wanted` nights that is nearest to `night`, if one is near enough."""
        return next((one for one in self.around(night) if one in wanted), None)

    def around(self, night: str) -> Iterator[str]:
        """The nights near enough to `night`, the nearest first, itself included."""
        at = self._index[night]
        for away in range(_NEAR + 1):
            for index in dict.fromkeys((at - away, at + away)):
                if 0 <= index < len(self.nights):
                    yield self.nights[index]
