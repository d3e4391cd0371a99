"""Real launches of a third-party program whose data take another transport than requested.

NetPIPE 3.7.2 runs between two nodes, emulated by namespaces of one machine.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.conftest import watched
from support.programs import write_script

from checks.mixins.witness import Witnessed
from roundtrip.measure import identity

NODES = {"rt-a": "10.97.5.1", "rt-b": "10.97.5.2"}
#: The program of each MPI, and its launcher, which starts a daemon on a node by AGENT.  Between
#: these nodes Debian's Open MPI takes TCP, and its MPICH memory: they share a kernel.
PROGRAMS = {
    "openmpi": (
        "NPopenmpi",
        ["mpirun.openmpi", "--mca", "plm_rsh_agent", "{agent}", "--host", ",".join(NODES.values())],
    ),
    "mpich": (
        "NPmpich2",
        [
            *("mpiexec.mpich", "-launcher", "rsh", "-launcher-exec", "{agent}"),
            *("-hosts", ",".join(NODES.values()), "-ppn", "1"),
        ],
    ),
}
#: A few large sizes.
OPTIONS = ("-l", "1000000", "-u", "2000000", "-o", "np.out")
AGENT = """\
case $1 in
*.1) node=rt-a ;;
*) node=rt-b ;;
esac
shift
exec ip netns exec $node unshare --uts sh -c "hostname $node; $*"
"""


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    """Starts a command on one of two connected nodes, in place of ssh."""
    write_script(tmp_path / "agent", AGENT)
    try:
        for node in NODES:
            _ip("netns", "add", node)
        _ip("link", "add", "eth1", "netns", "rt-a", "type", "veth", "peer", "eth1", "netns", "rt-b")
        for node, address in NODES.items():
            _ip("-n", node, "address", "add", f"{address}/24", "dev", "eth1")
            for interface in ("lo", "eth1"):
                _ip("-n", node, "link", "set", interface, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces can be made: {error}")
    try:
        yield tmp_path / "agent"
    finally:
        for node in NODES:
            _ip("netns", "delete", node)


def _fault(mpi: str, agent: Path, netpipe: Path, case: dict[str, Any]) -> str:
    """The mismatch of a launch of one rank per node, as `case` requested it."""
    program, launcher = PROGRAMS[mpi]
    for word in (program, launcher[0]):
        if shutil.which(word) is None:
            pytest.skip(f"{word} is not installed")
    folder = agent.parent
    ranks, check = watched(netpipe, folder, program)
    command = [word.format(agent=agent) for word in launcher]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with (folder / check.stderr).open("w") as errors:
        subprocess.run(
            ["ip", "netns", "exec", "rt-a", *command, "-n", "2", *ranks, *OPTIONS],
            cwd=folder,
            env={**os.environ, **root},
            stdout=subprocess.DEVNULL,
            stderr=errors,
            timeout=300,
            check=True,
        )
    run = {"workload": "netpipe-reference", "ranks": 2, **Witnessed.rank_entries(check)}
    rows = (folder / "np.out").read_text().splitlines()
    moved_bytes = sum(int(row.split()[0]) for row in rows)
    return identity.mismatch_reason({"simulated": False, **case}, run, None, moved_bytes)


def test_tcp_where_infiniband_was_requested(agent: Path, netpipe: Path) -> None:
    case = {"extras": {"transport": "rc", "device": "mlx5_0:1"}}
    fault = _fault("openmpi", agent, netpipe, case)
    request = "bytes over TCP, where rc on mlx5_0:1 was asked for"
    assert re.fullmatch(rf"mismatch: the first rank on node .+ sent \d+ {request}", fault)


def test_shared_memory_where_the_network_was_requested(agent: Path, netpipe: Path) -> None:
    fault = _fault("mpich", agent, netpipe, {})
    assert fault.endswith("the most of all: shared memory, where the network was asked for")


def test_the_network_where_it_was_requested(agent: Path, netpipe: Path) -> None:
    assert _fault("openmpi", agent, netpipe, {}) == ""
