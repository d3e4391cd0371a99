"""The ring: what does passing a region of memory cost when it need not be copied?

elepar, "BCR Portable Performance" (2002): Cooperative Data Sharing against MPI and PVM.
"""

import pathlib
import shlex

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_after, run_before, variable

from roundtrip.sites.launching import ONE_PER_NODE
from roundtrip.studies import ring

from ..mixins.build import build_workload
from ..mixins.placement import Placement, Scale
from ..mixins.record import PerfVariables, Recorded
from ..mixins.variable_types import BUDGET_TYPE, PRECISION_TYPE, number_type
from ..test_selection import simple_test


class build_ring(build_workload):
    """Builds the ring with MPI's transports, and with PVM's too if PVM is installed."""

    workload = "ring"

    @run_before("compile")
    def set_build_targets(self):
        if not self.installed_folder:
            self.build_system.build_opts = ["ring/all"]

    def ring_program_path(self, with_pvm):
        return self.program_path("ring-pvm" if with_pvm else "ring")

    @property
    def program_paths(self):
        candidates = map(self.ring_program_path, (False, True))
        return [program for program in candidates if pathlib.Path(program).exists()]


class RingBase(Placement, PerfVariables, Recorded, rfm.RunOnlyRegressionTest):
    """One token round a ring of ranks, by all transports, interleaved in each launch."""

    #: `all`: every transport of the partition, PVM if it has the feature `pvm`; `mpi`: without PVM.
    transport = parameter(["all", "mpi"], type=str, loggable=True)

    study = "ring"
    valid_prog_environs = ["+mpi +boost"]
    sourcesdir = None
    build = fixture(build_ring, scope="environment")

    #: Seconds a launch may measure.
    budget = variable(BUDGET_TYPE, value=30.0, loggable=True)
    #: Relative half-width of the median's confidence interval to reach at each point, in percent.
    precision = variable(PRECISION_TYPE, value=2.0, loggable=True)
    #: Largest region, bytes.
    end = variable(number_type(int, 10, 2**31 - 1), value=ring.MAX_REGION_BYTES, loggable=True)

    @property
    def measured_program(self):
        with_pvm = self.transport == "all" and "pvm" in self.current_partition.features
        return self.build.ring_program_path(with_pvm)

    @run_before("run")
    def set_command(self):
        self.executable = shlex.quote(self.measured_program)
        self.executable_opts += [
            f"--budget={self.budget:g}",
            f"--precision={self.precision:g}",
            f"--end={self.end}",
        ]
        self.time_limit = f"{int(3 * self.budget) + 60}s"


@simple_test
class Ring(RingBase):
    descr = "Ring in a node: regions by reference, by MPI, by PVM"
    not_simulated_reason = "its ranks wait in memory without calling MPI, and one runs at a time"

    #: `shared-memory`: two ranks, a processor each; `oversubscribed`: three ranks on two.
    placement = parameter(list(ring.NODE_PLACEMENTS), type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.num_tasks, _ = ring.NODE_PLACEMENTS[self.placement]
        self.num_tasks_per_node = self.num_tasks
        self.needs = [self.placement]
        self.valid_systems = [f"+{self.placement}"]
        if self.placement == "oversubscribed":
            self.launcher_options_key = "launcher_options_oversubscribed"
            self.executable_opts += ["--processors=2"]


class InterfaceOption(rfm.RegressionTestPlugin):
    """Options of a ring over a network, on two nodes or on many."""

    @run_before("run")
    def set_interface_option(self):
        if interface := self.current_partition.extras.get("interface"):
            self.executable_opts += [f"--interface={interface}"]


@simple_test
class RingNetwork(InterfaceOption, RingBase):
    """The ring with ranks on two nodes, over one kind of `link`.

    A partition may name the nodes' network interface in its extras (`interface`), which transports
    by UDP and PVM's daemons need; without it these transports are skipped.
    """

    descr = "Ring over a network: regions by message and mixed with hand-over, by MPI, by PVM"

    #: `one-per-node`: two ranks, a node each; `hybrid`: two in one node, one in the other.
    placement = parameter(["one-per-node", "hybrid"], type=str, loggable=True)
    #: `fast`: the network of the nodes; `hub`: a 10BASE-T hub.
    link = parameter(["fast", "hub"], type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.num_tasks, self.num_tasks_per_node = {
            "one-per-node": (2, 1),
            "hybrid": (3, 2),
        }[self.placement]
        hub = ["hub"] if self.link == "hub" else []
        self.needs = [self.placement, *hub]
        # A partition behind a hub has no faster link.
        exclusions = [] if hub else ["-hub"]
        self.valid_systems = [" ".join([*(f"+{feature}" for feature in self.needs), *exclusions])]

    @property
    def num_hosts(self):
        return 2

    @run_before("run")
    def set_node_count(self):
        # A scheduler may place no 2+1 tasks by the number of each node: it gets that of the nodes.
        options = self.launch_scheduler.node_count_options(self.num_hosts)
        if self.placement == "hybrid" and options:
            self.num_tasks_per_node = None
            self.job.options += options


@simple_test
class RingAtScale(Scale, InterfaceOption, RingBase):
    """The ring with a rank on each node; RingNetwork has two nodes."""

    descr = "Ring round many nodes: regions by message, by MPI"

    transport = parameter(["mpi"], type=str, loggable=True)
    #: `one-per-node`: one rank on each node.
    placement = parameter([ONE_PER_NODE], type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.skip_if(self.scale == "pair", "it takes two nodes: see nodes_2, and RingNetwork")
        self.set_scale_features()
