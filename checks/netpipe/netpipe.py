"""NetPIPE in five variants: what does Boost.MPI cost over raw MPI?

Boost.MPI documentation, "Performance Evaluation" (Gregor and Troyer, 2005-2007).
"""

import shlex

import reframe as rfm
from reframe.core.builtins import fixture, parameter, run_before, variable

from roundtrip.studies import netpipe

from ..mixins.amounts import BUDGET, LARGEST_BYTES, PRECISION, amount, choice
from ..mixins.build import build_workload
from ..mixins.placement import Placement
from ..mixins.record import Figures, Recorded
from ..test_selection import simple_test


class build_netpipe(build_workload):
    workload = "netpipe"


@simple_test
class NetPIPE(Placement, Figures, Recorded, rfm.RunOnlyRegressionTest):
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
    #: `same`: one buffer, warm in cache; `no-cache`: each message from memory not touched lately.
    buffers = variable(choice("same", "no-cache"), value=netpipe.DEFAULT_BUFFERS, loggable=True)
    #: Seconds a launch may measure.
    budget = variable(BUDGET, value=60.0, loggable=True)
    #: Relative half-width of the median's confidence interval to reach at each point, in percent.
    precision = variable(PRECISION, value=2.0, loggable=True)
    #: Largest message, bytes.
    end = variable(LARGEST_BYTES, value=netpipe.DEFAULT_LARGEST_BYTES, loggable=True)
    #: NetPIPE's perturbation of each size, bytes; 0 measures the centre sizes only.
    perturbation = variable(amount(int, 0, 1024), value=3, loggable=True)

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
