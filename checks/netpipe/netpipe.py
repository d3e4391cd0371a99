"""NetPIPE in five variants: what does Boost.MPI cost over raw MPI?  In a node and between nodes,
between cores of its sockets, over an emulated WAN, and by the upstream program.

Boost.MPI documentation, "Performance Evaluation" (Gregor and Troyer, 2005-2007).
"""

import json
import pathlib
import shlex
import shutil

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    deferrable,
    fixture,
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)

from roundtrip.sites import launching, schedulers
from roundtrip.sites.launching import SOCKET_PLACEMENTS
from roundtrip.studies import netpipe

from ..mixins.build import build_workload
from ..mixins.placement import Placement
from ..mixins.record import PerfVariables, Recorded
from ..mixins.variable_types import (
    BUDGET_TYPE,
    MESSAGE_BYTES_TYPE,
    PRECISION_TYPE,
    choice_type,
    number_type,
)
from ..mixins.wan import EmulatedWan
from ..mixins.witness import Witnessed
from ..test_selection import simple_test


class build_netpipe(build_workload):
    workload = "netpipe"


@simple_test
class NetPIPE(Placement, PerfVariables, Recorded, rfm.RunOnlyRegressionTest):
    """Bandwidth and latency over message size, all variants interleaved in each launch."""

    study = "netpipe"
    descr = "NetPIPE: raw MPI against Boost.MPI, derived datatypes and serialization"
    valid_prog_environs = ["+mpi +boost"]
    num_tasks = 2
    sourcesdir = None
    build = fixture(build_netpipe, scope="environment")

    #: `five`: raw MPI and Boost.MPI, plain, with datatypes and serialized; `raw`: raw MPI only.
    variants = parameter(netpipe.VARIANT_SETS, type=str, loggable=True)
    #: `pingpong`: half round trip; `stream`: one way; `bidirectional`: both ends send at once.
    mode = parameter(["pingpong", "stream", "bidirectional"], type=str, loggable=True)
    #: `same`: one buffer, warm in cache; `no-cache`: each message from memory not used recently.
    buffers = variable(
        choice_type("same", "no-cache"), value=netpipe.DEFAULT_BUFFERS, loggable=True
    )
    #: Seconds a launch may measure.
    budget = variable(BUDGET_TYPE, value=60.0, loggable=True)
    #: Relative half-width of the median's confidence interval to reach at each point, in percent.
    precision = variable(PRECISION_TYPE, value=2.0, loggable=True)
    #: Largest message, bytes.
    end = variable(MESSAGE_BYTES_TYPE, value=netpipe.DEFAULT_LARGEST_BYTES, loggable=True)
    #: NetPIPE's perturbation of each size, bytes; 0 measures the centre sizes only.
    perturbation = variable(number_type(int, 0, 1024), value=3, loggable=True)

    @run_before("run")
    def set_command(self):
        self.executable = shlex.quote(self.build.program)
        self.executable_opts += [
            f"--variants={','.join(netpipe.VARIANT_SETS[self.variants])}",
            f"--mode={self.mode}",
            f"--buffers={self.buffers}",
            f"--budget={self.budget:g}",
            f"--precision={self.precision:g}",
            f"--end={self.end}",
            f"--perturbation={self.perturbation}",
        ]
        self.time_limit = f"{int(3 * self.budget) + 60}s"


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


@simple_test
class NetPIPEWan(EmulatedWan, NetPIPE):
    """One rank in each of two clusters, over a link with an emulated round-trip time."""

    descr = "NetPIPE over an emulated WAN"
    placement = parameter(["one-per-node"], type=str, loggable=True)
    mode = parameter(["pingpong"], type=str, loggable=True)

    @sanity_function
    def assert_launch_over_link(self):
        half_trip_s = self.min_half_round_trip_s()
        return sn.all(
            [
                self.assert_launch_complete(),
                self.assert_link_used(half_trip_s),
                self.assert_link_explains_time(half_trip_s),
            ]
        )

    @deferrable
    def min_half_round_trip_s(self):
        """Return the smallest half-round-trip time of all samples, s: the least disturbed one."""
        from roundtrip.measure import samples

        return samples.read_rows(pathlib.Path(self.stagedir) / "samples.csv")["value"].min()


@simple_test
class NetPIPEReference(Placement, Witnessed, Recorded, rfm.RunOnlyRegressionTest):
    """NetPIPE 3.7.2 itself, where it is installed: the reference for our raw-MPI variant.

    Runs the program of the extra ``netpipe_reference``: Spack's NPmpi, or Debian's NPopenmpi or
    NPmpich2.
    """

    study = "netpipe-reference"
    descr = "NetPIPE 3.7.2, the upstream program, as a reference"
    valid_prog_environs = ["+netpipe-reference"]
    needs = ["netpipe-reference"]
    num_tasks = 2
    sourcesdir = None
    time_limit = "10m"

    #: Largest message, bytes (NetPIPE's option -u).
    end = variable(MESSAGE_BYTES_TYPE, value=8 << 20, loggable=True)
    #: NetPIPE's option -p, bytes.
    perturbation = variable(number_type(int, 0, 1024), value=3, loggable=True)

    @property
    def measured_program(self):
        return shutil.which(self.current_environ.extras["netpipe_reference"])

    @run_before("run")
    def set_command(self):
        self.executable = shlex.quote(self.current_environ.extras["netpipe_reference"])
        self.wrap_executable()
        self.executable_opts += ["-o", "np.out", *self.size_schedule().options()]

    def size_schedule(self):
        from roundtrip.studies.netpipe.output import SizeSchedule

        return SizeSchedule(end=self.end, perturbation=self.perturbation)

    @run_before("sanity")
    def convert_output(self):
        from roundtrip.studies.netpipe import output as netpipe_output

        stage = pathlib.Path(self.stagedir)
        self.points = netpipe_output.convert_output(
            stage / "np.out",
            self.current_environ.extras["netpipe_reference"],
            self.num_tasks,
            self.size_schedule(),
            **self.rank_entries(),
        )

    @sanity_function
    def assert_sizes_complete(self):
        last = sn.assert_ge(
            max((point.size_bytes for point in self.points), default=0),
            max(self.size_schedule().sizes()),
            msg="stopped at {0} bytes, before {1}",
        )
        return sn.all([last, self.assert_ranks_complete()])

    @run_before("performance")
    def set_perf_variables(self):
        latency = next(point.seconds for point in self.points if point.size_bytes == 1)
        peak = max(point.size_bytes / point.seconds for point in self.points)
        self.perf_variables = {
            "latency_1B_us": sn.make_performance_function(lambda: latency * 1e6, "us"),
            "bandwidth_peak": sn.make_performance_function(lambda: peak / 1e6, "MB/s"),
        }
