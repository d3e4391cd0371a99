"""A launch is whole if it reached its last size, and its ranks are on the requested sockets."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from checks.netpipe.netpipe import NetPIPEOnSockets, NetPIPEReference
from checks.osu.osu import OSU
from roundtrip.studies.netpipe.output import OutputPoint, SizeSchedule
from roundtrip.studies.osu import output as osu_output

LATENCY = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"


@pytest.mark.parametrize(("end", "last"), [(1000000, 786435), (64, 67), (1, 1)])
def test_netpipe_reaches_its_last_size(end: int, last: int) -> None:
    points = [OutputPoint(size, 1e-6) for size in SizeSchedule(end=end).sizes()]
    assert points[-1].size_bytes == last
    launch = SimpleNamespace(
        points=points,
        size_schedule=lambda: SizeSchedule(end=end),
        assert_ranks_complete=lambda: True,
    )
    assert NetPIPEReference.assert_sizes_complete(launch).evaluate()
    launch.points = points[:-1]
    with pytest.raises(SanityError, match="stopped at|wrote no point"):
        NetPIPEReference.assert_sizes_complete(launch).evaluate()


@pytest.mark.parametrize("last", [524288, 262144])
def test_osu_reaches_its_last_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, last: int
) -> None:
    runs: list[osu_output.OSUOutput] = []
    monkeypatch.setattr(osu_output, "convert_output", lambda _, output, **__: runs.append(output))
    lines = [f"{1 << power}  0.3\n" for power in range(last.bit_length())]
    (tmp_path / osu_output.MEASUREMENT_FILE).write_text(LATENCY + "".join(lines))
    launch = SimpleNamespace(
        **{"end": 1000000, "benchmark": "latency", "stagedir": tmp_path, "validation": None},
        **{"command": [], "num_tasks": 2, "simulation_record": None},
        rank_entries=lambda: {"hosts": ["a"], "identity": []},
    )
    if last == 524288:
        OSU.convert_output(launch)
        assert [output.rows[-1].size_bytes for output in runs] == [last]
        return
    with pytest.raises(SanityError, match="ends at 262144 bytes, before 524288: truncated"):
        OSU.convert_output(launch)


@pytest.mark.parametrize(
    ("cpus", "sockets"),
    [
        ([[0], [2]], 1),
        ([[0, 10], [11]], 2),
        ([[0, 1], [2]], 0),  # one rank may run on both
    ],
)
def test_a_rank_is_on_the_socket_of_all_its_processors(
    tmp_path: Path, cpus: list[list[int]], sockets: int
) -> None:
    """Of a node with processors 0, 2, 10 on socket 0 and 1, 3, 11 on socket 1."""
    lines = [
        f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id:{cpu % 2}\n"
        for cpu in (0, 1, 10, 11, 2, 3)
    ]
    (tmp_path / "sockets.txt").write_text("".join(lines))
    placement = [{"rank": rank, "host": "n1", "cpus": cpus[rank]} for rank in range(2)]
    (tmp_path / "run.json").write_text(json.dumps({"placement": placement}))
    launch = SimpleNamespace(stagedir=str(tmp_path))
    assert NetPIPEOnSockets.socket_count(launch).evaluate() == sockets
