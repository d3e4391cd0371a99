"""NetPIPE 3.7.2 itself, if its binaries are installed: the reference for our raw-MPI variant."""

import pathlib
import shlex
import shutil

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

from ..mixins.placement import Placement
from ..mixins.record import Recorded
from ..mixins.variable_types import MESSAGE_BYTES_TYPE, number_type
from ..mixins.witness import Witnessed
from ..test_selection import simple_test


@simple_test
class NetPIPEReference(Placement, Witnessed, Recorded, rfm.RunOnlyRegressionTest):
    """Runs the program of the extra ``netpipe_reference``: Spack's NPmpi, or Debian's NPopenmpi or
    NPmpich2."""

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
