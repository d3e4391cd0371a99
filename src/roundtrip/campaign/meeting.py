"""One or two nodes that a launch is told to take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Meeting:
    """Nodes that meet in a round of a plan; such rounds count from 0, those of a night from 1."""

    pair_round: int
    pair_night_round: int
    hosts: tuple[str, ...]


def asking(meetings: Sequence[Meeting]) -> dict[str, str]:
    """The environment in which each test of ReFrame is made once for each of the `meetings`.

    They are of one round.  Nothing without any.
    """
    if not meetings:
        return {}
    told = {
        "pair_round": meetings[0].pair_round,
        "pair_night_round": meetings[0].pair_night_round,
        "hosts": [list(one.hosts) for one in meetings],
    }
    return {"ROUNDTRIP_PAIRS": json.dumps(told)}
