"""Where two ranks of a node are is read from the records of the node and the launch."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks.netpipe.sockets import NetPIPEOnSockets


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
    assert NetPIPEOnSockets.sockets(launch).evaluate() == sockets
