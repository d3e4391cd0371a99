"""NetPIPE inside a node, between cores of one socket and between two sockets."""

import json
import pathlib

import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, run_after, run_before, sanity_function

from roundtrip.sites import launching, schedulers
from roundtrip.sites.launching import SOCKET_PLACEMENTS

from ..test_selection import simple_test
from .netpipe import NetPIPE

#: Files whose grep prints ``.../cpu3/topology/physical_package_id:1`` for each processor of a node.
_SOCKET_FILES = "/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id"


@simple_test
class NetPIPEOnSockets(NetPIPE):
    """Two ranks, each bound to a core; the launch fails if their sockets are not as requested."""

    descr = "NetPIPE between two cores of a node: of one socket, and of two"

    #: `one-socket`, `two-sockets`: the sockets of the two cores in a node.
    placement = parameter(SOCKET_PLACEMENTS, type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.set_required_features("shared-memory", "sockets_2")
        self.num_tasks_per_node = 2

    @run_before("run")
    def bind_to_sockets(self):
        launcher = self.job.launcher
        name = launcher.registered_name
        known = launching.OPTIONS_BY_MPI_LAUNCHER.get(name) or schedulers.options_of_launcher(name)
        launcher.options = launching.replace_socket_options(known, self.placement, launcher.options)
        self.prerun_cmds += [f"grep -H . {_SOCKET_FILES} > sockets.txt"]
        self.keep_files += ["sockets.txt"]

    @sanity_function
    def assert_sockets(self):
        count = {"one-socket": 1, "two-sockets": 2}[self.placement]
        message = "the ranks are on {0} sockets instead of {1}: see sockets.txt and run.json"
        return sn.all(
            [self.assert_launch_complete(), sn.assert_eq(self.socket_count(), count, msg=message)]
        )

    @sn.deferrable
    def socket_count(self):
        """Return on how many sockets the two ranks are; 0 if one of them may run on several."""
        folder = pathlib.Path(self.stagedir)
        socket_of_cpu = dict(
            map(_parse_socket_line, (folder / "sockets.txt").read_text().splitlines())
        )
        ranks = json.loads((folder / "run.json").read_text())["placement"]
        socket_sets = [{socket_of_cpu[cpu] for cpu in rank["cpus"]} for rank in ranks]
        is_bound = all(len(sockets) == 1 for sockets in socket_sets)
        return len(set.union(*socket_sets)) if is_bound else 0


def _parse_socket_line(line):
    """Return (processor, socket), both as numbers, of a line of sockets.txt."""
    path, _, socket = line.rpartition(":")
    return int(path.split("/cpu")[2].split("/")[0]), int(socket)
