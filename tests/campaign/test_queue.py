"""What a run says it waits for, as Slurm's queue has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtrip.campaign.scheduler import Queue, describe_wait

MINE = "roundtrip:night/virtual/20261122T010000Z"
NOW = 1_795_300_000.0
#: ``squeue --format=%i|%T|%r|%S|%V|%k`` with SLURM_TIME_FORMAT=%s (Slurm 22.05).
LISTING = f"""\
7|PENDING|Priority|N/A|1795299000|somebody else's
8|RUNNING|None|1795299990|1795299900|{MINE}
9|PENDING|Resources|{{start}}|1795299760|{MINE}
"""


@pytest.mark.parametrize(
    ("start", "expected"),
    [("N/A", ""), ("1795299000", ""), ("1795303600", "; Slurm expects it to start at 2026-11-2")],
)
def test_a_job_that_waits_says_why_how_long_and_until_when(start: str, expected: str) -> None:
    message = describe_wait(LISTING.format(start=start), MINE, NOW)
    assert message.startswith(f"job 9 has waited for 4 min: Resources{expected}")
    assert message.endswith("Resources") is not bool(expected)


@pytest.mark.parametrize("listing", ["", "squeue: error: x\n", f"8|RUNNING|None|1|1|{MINE}\n"])
def test_nothing_is_said_of_a_job_that_runs(listing: str) -> None:
    assert describe_wait(listing, MINE, NOW) == ""


def test_slurm_is_not_asked_whenever_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"#!/bin/sh\necho x >> {tmp_path}/calls\necho '9|PENDING|Licenses|N/A|N/A|{MINE}'\n"
    (tmp_path / "squeue").write_text(script)
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    queue = Queue(MINE, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert {queue.status() for _ in range(9)} == {"job 9 has waited: Licenses"}
    assert (tmp_path / "calls").read_text() == "x\n"
