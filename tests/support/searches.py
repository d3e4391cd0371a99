"""Searches for causes, whose launches have a known speed."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

import numpy as np

from roundtrip.cause.journal import Plan

STEP, FIRST = 0.2, 5
VERSIONS = [f"v{number}" for number in range(9)]


def make_plan(kind: str = "bisect", arms: Sequence[str] = VERSIONS) -> Plan:
    return Plan(
        kind=kind,  # type: ignore[arg-type]
        title="What changed latency on 2026-11-25?",
        measures="latency",
        name="search",
        site="local",
        started="2026-11-25T12:34:56Z",
        seed=3,
        arms=[*arms],
        step=STEP if kind == "blame" else 0.05,
    )


class SimulatedLauncher:
    """Versions are slower from `FIRST` on, other arms with the fact `cause`.

    The `dies`-th launch raises what a kill looks like from inside.
    """

    def __init__(
        self, cause: str = "v1", dies: int = 0, unbuilt: tuple[int, ...] = (), sleep_s: float = 0.0
    ) -> None:
        self.rng = np.random.default_rng(1)
        self.cause, self.dies, self.unbuilt, self.sleep_s = cause, dies, unbuilt, sleep_s
        self.launched = 0
        self.limits = list[float]()

    def build(self, arm: Hashable) -> str:
        return "make: error\x07" if arm in self.unbuilt else ""

    def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
        self.launched += 1
        assert limit_s is not None
        self.limits.append(limit_s)
        if self.launched == self.dies:
            raise KeyboardInterrupt
        time.sleep(self.sleep_s)
        is_slow = self.cause in arm if isinstance(arm, frozenset) else int(str(arm)) >= FIRST
        return float(np.exp(STEP * is_slow + 0.01 * self.rng.standard_normal()))
