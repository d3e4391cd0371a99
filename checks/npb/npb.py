"""The NAS Parallel Benchmarks: verified, or failed; never fast but wrong.

NAS reports RNR-94-007 and NAS-95-020.  Run over two clusters by Matsuda, Kudoh and Ishikawa,
"Evaluation of MPI implementations on grid-connected clusters using an emulated WAN environment"
(CCGrid 2003).
"""

import pathlib

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    fixture,
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)

from ..mixins.build import build_workload
from ..mixins.placement import Placement
from ..mixins.record import Recorded

BENCHMARKS = ["BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP"]


class build_npb(build_workload):
    """All eight benchmarks: one program."""

    workload = "npb"


class NPBBase(Placement, Recorded, rfm.RunOnlyRegressionTest):
    """One benchmark of one class.  Derived: `source`, and how that is run and verified."""

    study = "npb"
    sourcesdir = None

    #: The benchmark.
    benchmark = parameter(BENCHMARKS, type=str, loggable=True)
    #: Size of the problem: S and W for trying, A, B and C for measuring.
    problem_class = parameter(["S", "W", "A", "B", "C"], type=str, loggable=True)
    #: Number of ranks.  BT and SP take squares, CG, FT, IS and MG powers of two.
    ranks = parameter([1, 2, 4, 8, 16], type=int, loggable=True)
    #: Seconds after which a launch is given up.
    limit = variable(int, value=1800, loggable=True)

    @run_after("init")
    def place_ranks(self):
        from roundtrip.studies import npb

        self.skip_if(
            not npb.legal_ranks(self.benchmark, self.ranks),
            f"{self.benchmark} cannot run on {self.ranks} ranks",
        )
        self.skip_if(
            self.placement == "one-per-node" and self.ranks == 1, "one rank is on one node anyway"
        )
        self.num_tasks = self.ranks
        self.num_tasks_per_node = self.ranks if self.placement == "shared-memory" else 1
        # Two processors are what every partition has: more must be declared.
        many = [f"ranks-{self.ranks}"] if self.ranks > 2 else []
        self.needs = [*self.needs, self.placement, *many]
        self.valid_systems = [" ".join(f"+{name}" for name in [self.placement, *many])]
        self.time_limit = f"{self.limit}s"


@rfm.simple_test
class NPB(NPBBase):
    """Our own implementation."""

    descr = "NAS Parallel Benchmarks, our own implementation"
    valid_prog_environs = ["+mpi +boost"]
    build = fixture(build_npb, scope="environment")

    #: Whose implementation it is.
    source = parameter(["native"], type=str, loggable=True)

    @run_before("run")
    def set_command(self):
        self.executable = self.build.program
        self.executable_opts += [
            f"--benchmark={self.benchmark}",
            f"--class={self.problem_class}",
        ]

    @sanity_function
    def verified(self):
        found = sn.assert_found(
            r"^ Verification\s*=\s*SUCCESSFUL$", self.stdout, msg="verification failed"
        )
        return sn.all([self.launch_is_whole(), found])

    @run_before("performance")
    def set_perf_variables(self):
        from roundtrip.studies import npb

        figures = npb.summarise_file(f"{self.stagedir}/samples.csv")
        self.perf_variables = {
            name: sn.make_performance_function(figures.get, unit, name)
            for name, unit in npb.SUMMARY_UNITS.items()
            if name in figures
        }


@rfm.simple_test
class NPBReference(NPBBase):
    """NPB 3.4 itself: programs ``<bench>.<class>.x`` in the environment's ``npb_upstream``."""

    descr = "NAS Parallel Benchmarks 3.4, the upstream programs, as a reference"
    valid_prog_environs = ["+npb-upstream"]
    needs = ["npb-upstream"]

    #: Whose implementation it is.
    source = parameter(["upstream"], type=str, loggable=True)

    @run_before("run")
    def set_command(self):
        folder = pathlib.Path(self.current_environ.extras["npb_upstream"])
        self.executable = str(folder / f"{self.benchmark.lower()}.{self.problem_class}.x")
        self.executable_opts = []

    @run_before("sanity")
    def convert_output(self):
        from roundtrip.studies import npb

        output = pathlib.Path(self.stagedir) / str(self.stdout)
        self.result = npb.convert_upstream(output, self.executable)

    @sanity_function
    def verified(self):
        return sn.all(
            [
                sn.assert_true(self.result.verified, msg="verification failed"),
                sn.assert_eq(self.result.total_processes, self.num_tasks),
            ]
        )

    @run_before("performance")
    def set_perf_variables(self):
        rate = self.result.rate
        self.perf_variables = {"rate": sn.make_performance_function(lambda: rate, "Mop/s")}
