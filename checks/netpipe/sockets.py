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
    """Two ranks, each bound to a core; the launch fails if they are on other sockets."""

    descr = "NetPIPE between two cores of a node: of one socket, and of two"

    #: `one-socket`, `two-sockets`: the sockets of the two cores in a node.
    placement = parameter(SOCKET_PLACEMENTS, type=str, loggable=True)

    @run_after("init")
    def place_ranks(self):
        self.need("shared-memory", "sockets_2")
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
    def launch_is_whole_and_placed(self):
        count = {"one-socket": 1, "two-sockets": 2}[self.placement]
        message = "the ranks are on {0} sockets instead of {1}: see sockets.txt and run.json"
        return sn.all([self.launch_is_whole(), sn.assert_eq(self.sockets(), count, msg=message)])

    @sn.deferrable
    def sockets(self):
        """Return the number of sockets of the ranks; 0 if one of them may run on several."""
        folder = pathlib.Path(self.stagedir)
        socket_of_cpu = dict(
            map(_processor_and_socket, (folder / "sockets.txt").read_text().splitlines())
        )
        places = json.loads((folder / "run.json").read_text())["placement"]
        sockets = [{socket_of_cpu[cpu] for cpu in place["cpus"]} for place in places]
        return len(set.union(*sockets)) if all(len(one) == 1 for one in sockets) else 0


def _processor_and_socket(line):
    """Return number and socket of a processor."""
    path, _, socket = line.rpartition(":")
    return int(path.split("/cpu")[2].split("/")[0]), int(socket)
