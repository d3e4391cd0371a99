"""A launcher for searches for causes, whose simulated launches have a known speed."""

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

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


@dataclass
class SimulatedLauncher:
    """Simulates launches: a version from `FIRST` on, or an arm with the fact `cause`, is slower.

    Launch number `interrupted_launch` raises KeyboardInterrupt; `failing_builds` do not build.
    """

    cause: str = "v1"
    interrupted_launch: int = 0
    failing_builds: tuple[int, ...] = ()
    sleep_s: float = 0.0
    launched: int = 0
    limits_s: list[float] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def build(self, arm: Hashable) -> str:
        return "make: error\x07" if arm in self.failing_builds else ""

    def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
        self.launched += 1
        assert limit_s is not None
        self.limits_s.append(limit_s)
        if self.launched == self.interrupted_launch:
            raise KeyboardInterrupt
        time.sleep(self.sleep_s)
        is_slow = self.cause in arm if isinstance(arm, frozenset) else int(str(arm)) >= FIRST
        return float(np.exp(STEP * is_slow + 0.01 * self.rng.standard_normal()))
