"""Where two ranks of a node are is read from the records of the node and the launch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
#: Counts the sockets of the launch in a folder, as the check does.
COUNT = """\
import sys
from types import SimpleNamespace
from checks.netpipe.sockets import NetPIPEOnSockets
here = SimpleNamespace(stagedir=sys.argv[1])
print(NetPIPEOnSockets.sockets(here).evaluate())
"""


def sockets(folder: Path, *cpus: list[int]) -> str:
    """Of a node with processors 0, 2, 10 on socket 0 and 1, 3, 11 on socket 1."""
    lines = [
        f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id:{cpu % 2}"
        for cpu in (0, 1, 10, 11, 2, 3)
    ]
    (folder / "sockets.txt").write_text("\n".join(lines) + "\n")
    placement = [
        {"rank": rank, "host": "n1", "cpus": rank_cpus} for rank, rank_cpus in enumerate(cpus)
    ]
    (folder / "run.json").write_text(json.dumps({"placement": placement}))
    process = subprocess.run(
        [sys.executable, "-c", COUNT, str(folder)], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


def test_a_rank_is_on_the_socket_of_all_its_processors(tmp_path: Path) -> None:
    assert sockets(tmp_path, [0], [2]) == "1"
    assert sockets(tmp_path, [0, 10], [11]) == "2"
    assert sockets(tmp_path, [0, 1], [2]) == "0", "it may run on both"
