"""Launches what was worse last night again, with what was not, in the time that a night has left.

The launches are rounds as any others, of a tree inside that of the run: the night's own values, its
matrix and its outcome know nothing of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import replace

from roundtrip.campaign import tree
from roundtrip.campaign.progress import told
from roundtrip.campaign.runner import Runner
from roundtrip.collect import rounds


def launch(night: Runner, cases: Collection[str], launches: int) -> str:
    """Launch each of `cases` so often, in rounds; why none was launched, "" if one was.

    `night` has run, and was given ``confirm``.  A round that would not end in time is not begun;
    the first one is expected to take as long as launches of the night did.
    """
    wanted = [item for item in night.expected if item.case.id in cases and not item.simulated]
    left_s = min(60 * (night.campaign.confirm_minutes or 0.0), night.deadline - time.monotonic())
    needed_s = night.launch_s * len(wanted)
    why = ""
    if not wanted:
        why = "none of the cases is launched by this campaign"
    elif left_s <= 0 or needed_s > left_s:
        why = f"no time was left: a round takes {told(needed_s)}, of {told(left_s)}"
    note = {"schema": 1, "launches": launches, "why_not": why}
    (night.tree.path / "env" / rounds.CONFIRMED).write_text(json.dumps(note) + "\n")
    if why:
        return why
    inner = tree.part(night.tree, rounds.CONFIRMATION, wanted, launches)
    title = f"{night.campaign.title}: launching again what was worse"
    limited = replace(
        night.campaign, title=title, launches=launches, time_limit_minutes=left_s / 60
    )
    with inner:
        Runner(limited, night.site, inner, wanted, night.progress).run()
    return ""
