"""Looks at a run after its rounds: what is told, what is open, and whether it may stop.

To look as often as one likes does no harm: the run is judged by the sequential test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from roundtrip.collect import bundle
from roundtrip.collect.launches import scan
from roundtrip.compare import words
from roundtrip.compare.comparison import compare
from roundtrip.compare.model import Comparison, Status
from roundtrip.compare.side import Side
from roundtrip.report import data

#: Before so many rounds nothing can be told.
_FIRST_LOOK = 6
#: After so many rounds that both sides did not come through, more would not help.
_PATIENCE = 3
_MOST_NAMED = 3


@dataclass
class Watch:
    """The run in `tree`, of toolchains `base` and `new`; `tell` shows a line to people.

    `fail_on` is as for `comparison.compare`.
    """

    tree: Path
    base: str
    new: str
    tell: Callable[[str], None]
    fail_on: float | None = None
    _tried: int = 0
    _since_pair: int = 0
    _pairs: int = 0

    def enough(self) -> bool:
        """Whether all claims are told, or no more can be expected; asked before each round."""
        pairs = self.pairs
        self._since_pair = 0 if pairs > self._pairs else self._since_pair + 1
        self._pairs = pairs
        self._tried += 1
        if self._since_pair > _PATIENCE:
            self.tell(f"no round launched both in the last {_PATIENCE}: stopping")
            return True
        if pairs < _FIRST_LOOK or pairs % max(1, pairs // 10):
            return False
        compared = self.judged()
        self.tell(status(compared, pairs))
        return told(compared)

    @property
    def pairs(self) -> int:
        """Rounds in which both toolchains have a launch that passed."""
        rounds: dict[str, set[int | None]] = {self.base: set(), self.new: set()}
        for launch in scan(self.tree):
            if launch.status == "passed" and launch.environ in rounds:
                rounds[launch.environ].add(launch.campaign_round)
        return len(rounds[self.base] & rounds[self.new])

    def judged(self) -> Comparison:
        """The comparison of what is there; UserError if no launch completed."""
        with tempfile.TemporaryDirectory(prefix="roundtrip-ab-") as folder:
            held = data.read(bundle.build(self.tree, Path(folder)))
            base, new = (
                Side(f"{self.tree}:toolchain={name}", held, {"toolchain": name})
                for name in (self.base, self.new)
            )
            return compare(base, new, self.fail_on)


def told(compared: Comparison) -> bool:
    """Whether there are claims, and none is open."""
    return bool(compared.rows) and not _open(compared)


def status(compared: Comparison, rounds: int) -> str:
    """A line: how many claims are told, and which are open for how long."""
    left = _open(compared)
    done = len(compared.rows) - len(left)
    line = f"round {rounds}: {done} of {len(compared.rows)} told"
    if left:
        named = "; ".join(left[:_MOST_NAMED])
        more = f"; {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        line += f"; open: {named}{more}"
    return words.printable(line)


def _open(compared: Comparison) -> list[str]:
    states = (Status.CANNOT_TELL, Status.NO_CLAIM)
    return [f"{words.series(r)} ({words.lacks(r)})" for r in compared.rows if r.status in states]
