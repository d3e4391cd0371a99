"""NetPIPE in five variants: what does Boost.MPI cost over raw MPI?

Boost.MPI documentation, "Performance Evaluation" (Gregor and Troyer, 2005-2007).
"""

import shlex

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_before, variable

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
