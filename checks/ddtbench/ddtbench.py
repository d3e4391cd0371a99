"""DDTBench: what do MPI derived datatypes cost against packing by hand?

Schneider, Gerstenberger and Hoefler, "Micro-Applications for Communication Data Access Patterns
and MPI Datatypes" (EuroMPI 2012).
"""

import shlex

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_before, variable

from roundtrip.studies import ddtbench

from ..mixins.build import build_workload
from ..mixins.placement import Placement
from ..mixins.record import PerfVariables, Recorded
from ..mixins.variable_types import BUDGET_TYPE, PRECISION_TYPE, choice_type
from ..test_selection import simple_test


class build_ddtbench(build_workload):
    workload = "ddtbench"


@simple_test
class DDTBench(Placement, PerfVariables, Recorded, rfm.RunOnlyRegressionTest):
    """One micro-app by all methods, interleaved in each launch.

    A legal call that the MPI refuses does not fail the check: the workload first tries each call
    separately, records a refusal as a finding in run.json and measures the rest (MPICH 4.0.2
    rejects MPI_Pack with MPI_BOTTOM: WRF, LAMMPS and SPECFEM3D_cm then pack relative to an array).
    """

    study = "ddtbench"
    descr = "DDTBench: MPI datatypes against packing by hand and MPI_Pack"
    valid_prog_environs = ["+mpi +boost"]
    not_simulated_reason = "SMPI charges no time for packing"
    num_tasks = 2
    sourcesdir = None
    build = fixture(build_ddtbench, scope="environment")

    #: Access pattern of an application.
    app = parameter(ddtbench.MICRO_APPS, type=str, loggable=True)
    #: `all`: every parameter set of the study; `largest`: that with the largest message.
    sizes = parameter(["all", "largest"], type=str, loggable=True)
    #: States of memory between exchanges, of original, same, cold; see the workload's --help.
    buffers = variable(
        choice_type(*ddtbench.BUFFER_STATES, several=True),
        value=ddtbench.DEFAULT_BUFFER_STATES,
        loggable=True,
    )
    #: Seconds a launch may measure.
    budget = variable(BUDGET_TYPE, value=10.0, loggable=True)
    #: Relative half-width of the median's confidence interval to reach at each point, in percent.
    precision = variable(PRECISION_TYPE, value=2.0, loggable=True)

    @run_before("run")
    def set_command(self):
        self.executable = shlex.quote(self.build.program)
        self.executable_opts += [
            f"--apps={self.app}",
            f"--sizes={self.sizes}",
            f"--buffers={self.buffers}",
            f"--budget={self.budget:g}",
            f"--precision={self.precision:g}",
        ]
        # Whatever the budget, every case is measured once: FFT's largest may take minutes.
        self.time_limit = f"{int(3 * self.budget) + 300}s"
