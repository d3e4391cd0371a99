"""A launch is whole if its program reached the last of its sizes, which may be less than `end`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from checks.netpipe.reference import NetPIPEReference
from checks.osu.osu import OSU
from roundtrip.studies.netpipe.output import OutputPoint, SizeSchedule
from roundtrip.studies.osu import output as osu_output

LATENCY = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"


@pytest.mark.parametrize(("end", "last"), [(1000000, 786435), (64, 67), (1, 1)])
def test_netpipe(end: int, last: int) -> None:
    points = [OutputPoint(size, 1e-6) for size in SizeSchedule(end=end).sizes()]
    assert points[-1].size_bytes == last
    launch = SimpleNamespace(
        points=points, schedule=lambda: SizeSchedule(end=end), ranks_are_complete=lambda: True
    )
    assert NetPIPEReference.reached_the_end(launch).evaluate()
    launch.points = points[:-1]
    with pytest.raises(SanityError, match="stopped at|wrote no point"):
        NetPIPEReference.reached_the_end(launch).evaluate()


@pytest.mark.parametrize("last", [524288, 262144])
def test_osu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, last: int) -> None:
    runs: list[osu_output.OsuOutput] = []
    monkeypatch.setattr(osu_output, "convert_output", lambda _, output, **__: runs.append(output))
    lines = [f"{1 << power}  0.3\n" for power in range(last.bit_length())]
    (tmp_path / osu_output.MEASUREMENT_FILE).write_text(LATENCY + "".join(lines))
    launch = SimpleNamespace(
        **{"end": 1000000, "benchmark": "latency", "stagedir": tmp_path, "validation": None},
        **{"command": [], "num_tasks": 2, "simulated_by": None},
        rank_entries=lambda: {"hosts": ["a"], "identity": []},
    )
    if last == 524288:
        OSU.convert_output(launch)
        assert [output.rows[-1].size_bytes for output in runs] == [last]
        return
    with pytest.raises(SanityError, match="ends at 262144 bytes, before 524288: truncated"):
        OSU.convert_output(launch)
