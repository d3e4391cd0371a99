"""Every step that a site was told on the way, had it looked after every night.

A scan over the whole history uses, for what it tells after a night, that night and earlier ones;
so its alarms are those of all nightly looks together.  `judge` may withdraw some of them later, as
parts of a drift.
"""

from __future__ import annotations

import numpy as np

from roundtrip.stats.nights import spikes, steps
from roundtrip.stats.nights.series import pack
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.steps import Found


def alarms(logs: np.ndarray, nodes: np.ndarray, settings: Settings) -> list[list[Found]]:
    """Of each series, the steps of all looks; arguments as of `judge`.

    Places are counted among the nights that were used.
    """
    packed = pack(np.asarray(logs, dtype=float), np.asarray(nodes), settings.node_sets_most)
    return steps.find(packed.keep(~spikes.find(packed, settings)), settings)
