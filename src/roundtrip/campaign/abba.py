"""Rounds in twos, AB BA or BA AB, by one coin: so a steady drift leaves their mean ratio as it is.

The coins follow from a seed, which is in the campaign's file and so in the tree of the run: a run
that is resumed goes on with them.  Rounds 1 and 2 are two, and 3 and 4, whatever is lost of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from roundtrip.campaign.matrix import Expected


def sides(wanted: Sequence[Expected], seed: int, number: int) -> list[list[Expected]]:
    """The cases of round `number`, from 1 on, by toolchain, in the order to launch them."""
    environs = sorted({item.case.environ for item in wanted})
    coin = random.Random(f"{seed} {(number + 1) // 2}").random() < 0.5  # noqa: S311  no secret
    if coin == (number % 2 == 0):
        environs.reverse()
    return [[item for item in wanted if item.case.environ == one] for one in environs]
