"""Replays of a recorded trace by SimGrid: equal to the last digit, refused where they stall."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import Platform, Trace, cut_to_section, replay_trace

CHECKOUT = Path(__file__).parents[3]
RECORDED = CHECKOUT / "tests" / "data" / "simulated" / "mg-s-2"
PLATFORMS = CHECKOUT / "site-configs" / "simulated" / "platforms"


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    try:
        simgrid.find_smpirun()
    except UserError as error:
        pytest.skip(str(error))
    return cut_to_section(RECORDED / "trace.txt", tmp_path / "cut")


def grid(host_flops: float, added_rtt_ms: float = 0) -> Platform:
    return simgrid.read_platform(PLATFORMS / "grid.xml", host_flops, added_rtt_ms)


#: Seconds by host speed.  SimGrid 3.32 computes them the same on every machine.
GOLDEN = {2e8: 0.0252418, 2e9: 0.00813774}


@pytest.mark.parametrize("host_flops", GOLDEN)
def test_a_replay_takes_the_same_time_everywhere(trace: Trace, host_flops: float) -> None:
    seconds = [replay_trace(trace, grid(host_flops)) for _ in range(2)]
    assert seconds[0] == seconds[1]
    assert seconds[0] == pytest.approx(GOLDEN[host_flops], rel=1e-12)
    # The launch was recorded at 2e8 flop/s, where it took 25.2126 ms with a clock that took time.
    if host_flops == 2e8:
        assert seconds[0] == pytest.approx(0.0252126, rel=0.02)


def test_a_trace_that_waits_for_ever_is_refused(trace: Trace) -> None:
    file = trace.files[1]
    file.write_text(file.read_text().replace("1 finalize", "1 recv 0 0 8 0\n1 finalize"))
    with pytest.raises(UserError, match="(?i)deadlock"):
        replay_trace(trace, grid(2e8))


def test_smpirun_splits_words_at_blanks_so_none_is_taken(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="smpirun takes no blanks: 'a b'"):
        simgrid.run_smpirun(["a b"], 2, grid(2e8), tmp_path)
