"""The NAS Parallel Benchmarks in one cluster, on two over an emulated link, and on as many ranks as
fit on the partition: a launch that is not verified fails.

NAS reports RNR-94-007 and NAS-95-020.  Matsuda, Kudoh and Ishikawa, "Evaluation of MPI
implementations on grid-connected clusters using an emulated WAN environment" (CCGrid 2003).

`source` selects the programs: ours, or those of NPB 3.4 itself, ``<bench>.<class>.x`` in the folder
in the environment's extras (``npb_upstream``).
"""

import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import (
    deferrable,
    fixture,
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import SanityError

from roundtrip.errors import UserError
from roundtrip.sites import launching
from roundtrip.sites.launching import ALL_CORES
from roundtrip.studies import npb
from roundtrip.studies.npb import derived

from ..mixins.build import build_workload
from ..mixins.placement import Placement, Scale
from ..mixins.record import PerfVariables, Recorded
from ..mixins.variable_types import TIME_LIMIT_TYPE
from ..mixins.wan import EmulatedWan
from ..mixins.witness import Witnessed
from ..test_selection import simple_test

NATIVE_ENVIRONS, UPSTREAM_ENVIRONS = "+mpi +boost", "+mpi +boost +npb-upstream"


class build_npb(build_workload):
    """Builds our program, which has all eight benchmarks."""

    workload = "npb"


class NPBLaunch(Placement, PerfVariables, Recorded, rfm.RunOnlyRegressionTest):
    """Starts our program.  Derived classes have the parameters `benchmark` and `problem_class`."""

    study = npb.STUDY.name
    sourcesdir = None
    build = fixture(build_npb, scope="environment")
    #: Time limit of a launch, s.
    limit = variable(TIME_LIMIT_TYPE, value=1800, loggable=True)

    @run_after("init")
    def set_time_limit(self):
        self.time_limit = f"{self.limit}s"

    def set_ranks(self, ranks):
        """Set the number of ranks; skip the case if the benchmark cannot run on so many."""
        self.skip_if(
            not npb.is_legal_rank_count(self.benchmark, self.problem_class, ranks),
            f"{self.benchmark} of class {self.problem_class} cannot run on {ranks} ranks",
        )
        self.num_tasks = ranks


class NPBBase(Witnessed, NPBLaunch):
    """One benchmark of one class.  Derived classes set the ranks and the features they need."""

    #: The benchmark.
    benchmark = parameter(npb.BENCHMARKS, type=str, loggable=True)
    #: Size of the problem: S and W for trying, A, B and C for measuring.
    problem_class = parameter(npb.CLASSES, type=str, loggable=True)
    #: The programs: `native`, ours; `upstream`, those of NPB 3.4.
    source = parameter([npb.NATIVE, npb.UPSTREAM], type=str, loggable=True)
    #: How to make a missing feature available, unless the site says it.
    remedies = variable(typ.Dict[str, str], value={"npb-upstream": "spack install npb"})

    @run_after("init")
    def choose_source(self):
        upstream = self.source == npb.UPSTREAM
        self.valid_prog_environs = [UPSTREAM_ENVIRONS if upstream else NATIVE_ENVIRONS]
        self.needs = [*self.needs, *(["npb-upstream"] if upstream else [])]

    @property
    def emulation(self):
        """The number of processors that emulated nodes share, from the site; {} if they do not."""
        processors = self.current_partition.extras.get("processors", self.num_tasks)
        return {"shared_processors": processors} if self.num_tasks > processors else {}

    @property
    def measured_program(self):
        if self.source == npb.NATIVE:
            return self.build.program
        folder = pathlib.Path(self.current_environ.extras["npb_upstream"])
        return str(folder / f"{self.benchmark.lower()}.{self.problem_class}.x")

    @run_before("run")
    def set_command(self):
        if self.source == npb.NATIVE:
            self.executable = shlex.quote(self.build.program)
            self.executable_opts += [
                f"--benchmark={self.benchmark}",
                f"--class={self.problem_class}",
            ]
            return
        program = pathlib.Path(self.measured_program)
        self.skip_if(not program.is_file(), f"this installation has no {program.name}")
        self.executable = shlex.quote(str(program))
        self.wrap_executable()

    @run_before("sanity")
    def read_output(self):
        output = pathlib.Path(self.stagedir) / str(self.stdout)
        try:
            if self.source == npb.UPSTREAM:
                self.result = derived.convert_output(
                    output, self.measured_program, **self.rank_entries()
                )
            else:
                self.result = derived.parse_output(output)
        except UserError as error:
            raise SanityError(str(error)) from None

    @sanity_function
    def assert_verified(self):
        checks = [
            sn.assert_true(self.result.verified, msg="verification failed"),
            sn.assert_false(
                (self.result.history or "").startswith("deviates"),
                msg=f"verified as NPB has it, but its history {self.result.history}",
            ),
            sn.assert_eq(
                self.result.total_processes, self.num_tasks, msg="ran with {0} ranks instead of {1}"
            ),
        ]
        is_native = self.source == npb.NATIVE
        ranks = self.assert_launch_complete() if is_native else self.assert_ranks_complete()
        return sn.all([*checks, ranks])


@simple_test
class NPB(NPBBase):
    descr = "NAS Parallel Benchmarks, our own programs and those of NPB 3.4"

    #: Number of ranks.  BT and SP take squares, CG, FT, IS and MG powers of two.
    ranks = parameter([1, 2, 4, 16], type=int, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.set_ranks(self.ranks)
        self.skip_if(
            self.placement == "one-per-node" and self.ranks == 1, "one rank is on one node anyway"
        )
        self.num_tasks_per_node = self.ranks if self.placement == "shared-memory" else 1
        self.set_required_features(
            self.placement, *launching.features_for_ranks(self.ranks, self.num_tasks_per_node)
        )


class NPBWanBase(EmulatedWan, NPBBase):
    """One benchmark with half of the ranks in each cluster.  Derived classes set their number."""

    #: Round-trip time added to the link, ms, as in the study.
    wan_rtt = parameter([0, 1, 2, 3, 4], loggable=True)

    @property
    def emulation(self):
        return {**NPBBase.emulation.fget(self), "wan_rtt_ms": self.wan_rtt}

    @sanity_function
    def assert_launch_over_link(self):
        return sn.all([self.assert_verified(), self.assert_link_used(self.iteration_time_s())])

    @deferrable
    def iteration_time_s(self):
        """Return the time of an iteration, s; each needs data from the other cluster."""
        rounding = 0.005  # NPB prints two decimals
        return (self.result.seconds + rounding) / max(self.result.iterations, 1)


@simple_test
class NPBWan(NPBWanBase):
    """One benchmark on two clusters, on a fixed number of ranks."""

    descr = "NAS Parallel Benchmarks over an emulated WAN"

    # Each value here is one more test that ReFrame may instantiate in a session and not run.
    problem_class = parameter(["S", "W", "A", "B"], type=str, loggable=True)
    #: Ranks of both clusters together; the study had 16 in each.
    ranks = parameter([2, 4, 32], type=int, loggable=True)
    #: `one-per-node`: each rank on a node; `node-per-cluster`: each cluster is one node, so that
    #: ranks reach each other in memory inside it and by the network between.
    placement = parameter(["one-per-node", "node-per-cluster"], type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.set_ranks(self.ranks)
        in_memory = self.placement == "node-per-cluster"
        self.skip_if(
            in_memory and self.ranks == 2, "with one rank a cluster each is on a node anyway"
        )
        self.num_tasks_per_node = self.ranks // 2 if in_memory else 1

    @run_after("init", always_last=True)
    def set_wan_features(self):
        # Half of the nodes are in each cluster.
        self.set_required_features(
            "wan", *launching.features_for_ranks(self.ranks, self.num_tasks_per_node)
        )


class LegalRanksAtScale(Scale):
    """Starts the largest legal number of ranks that is the same on all nodes.

    A benchmark may not run on all cores, such as on 24 if it needs a power of two.
    """

    def legal_rank_count(self, nodes, max_ranks):
        legal = (
            count
            for count in range(max_ranks - max_ranks % nodes, 0, -nodes)
            if npb.is_legal_rank_count(self.benchmark, self.problem_class, count)
        )
        return next(legal, 0)


@simple_test
class NPBAtScale(LegalRanksAtScale, NPBBase):
    """One benchmark on all nodes of a scale; check NPB runs on fixed numbers of ranks."""

    descr = "NAS Parallel Benchmarks on all ranks that the partition has room for"

    # Each value here is one more test that ReFrame may instantiate in a session and not run.
    problem_class = parameter(["A", "B", "C"], type=str, loggable=True)
    #: `all-cores`: a rank on every core of the nodes.
    placement = parameter([ALL_CORES], type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.set_scale_features()


@simple_test
class NPBWanAtScale(LegalRanksAtScale, NPBWanBase):
    """One benchmark on full nodes, half in each cluster; the study had 16 ranks in each."""

    descr = "NAS Parallel Benchmarks over an emulated WAN, on all ranks that there is room for"

    problem_class = parameter(["A", "B"], type=str, loggable=True)
    #: `all-cores`: a rank on every core of the nodes.
    placement = parameter([ALL_CORES], type=str, loggable=True)
    node_multiple = 2  # equal numbers in both clusters

    @run_after("init")
    def set_placement(self):
        self.skip_if(self.scale in ("pair", "node"), "it takes a node in each cluster: see NPBWan")

    @run_after("init", always_last=True)
    def set_wan_features(self):
        self.set_scale_features("wan")
