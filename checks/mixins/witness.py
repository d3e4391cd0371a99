"""Where the ranks of somebody else's program ran: each says its node before it becomes the program.

The scheduler's list of nodes is what was allocated, and some schedulers give none: where ranks
really are, only the launch can tell.  Simulated ranks are no processes: SimGrid says where it put
them.
"""

import pathlib
import re
import shlex

import reframe as rfm
import reframe.utility.sanity as sn

from roundtrip.host.programs import MPI_LIBRARY

#: On standard error, which the program's own output does not go to: host, its name in Slurm, and
#: the MPI library that the loader takes for the program here.
_WRAPPER_SCRIPT = (
    r'mpi=$(ldd "$1" 2>/dev/null | sed -En "s/^\s*' + MPI_LIBRARY + r' => (.*) \(.*/\3/p"); '
    'echo "ROUNDTRIP RANK ON $(uname -n) ${SLURMD_NODENAME:--} ${mpi:+$(realpath "$mpi")}" >&2; '
    'exec "$@"'
)
_RANK_LINE = re.compile(
    r"^(?:ROUNDTRIP RANK ON|.*\[smpi/INFO\] \[rank \d+\] ->) (?P<host>\S+)"
    r"(?: (?P<node>\S+) (?P<mpi>.*))?$",
    re.MULTILINE,
)
#: By which smpirun says it.
_SIMULATOR_OPTIONS = ("-map", "--log=smpi.thres:info")


def _rank_lines(check):
    """What the ranks of a launch said, in order."""
    text = pathlib.Path(check.stagedir, str(check.stderr)).read_text(errors="replace")
    return list(_RANK_LINE.finditer(text))


class Witnessed(rfm.RegressionTestPlugin):
    """The check has `num_tasks`, `num_hosts` (mixin Placement), `simulated` (mixin Simulation)."""

    def wrap_executable(self):
        """Let each rank say its node, then become `executable` with its options."""
        if self.simulated:
            self.executable_opts = []
            self.job.launcher.options = [*self.job.launcher.options, *_SIMULATOR_OPTIONS]
            return
        self.executable_opts = ["-c", shlex.quote(_WRAPPER_SCRIPT), "sh", self.executable]
        self.executable = "sh"

    @sn.deferrable
    def rank_hosts(self):
        """The node of each rank, in the order in which they said it."""
        return [match["host"] for match in _rank_lines(self)]

    def identities(self):
        """`identity` of run.json: of each rank its host and the MPI library that it loads; their
        numbers are the order in which they said it."""
        return [
            {
                "host": match["host"],
                "ranks": [number],
                "slurm_node": None if match["node"] == "-" else match["node"],
                "file": match["mpi"] if match["mpi"].startswith("/") else None,
            }
            for number, match in enumerate(_rank_lines(self))
            if match["node"]
        ]

    def ranks_are_complete(self):
        """Whether as many ranks as were asked for ran, on as many nodes."""
        ranks = self.rank_hosts()
        return sn.all(
            [
                sn.assert_eq(
                    sn.count(ranks), self.num_tasks, msg="ran with {0} ranks instead of {1}"
                ),
                sn.assert_eq(
                    sn.count_uniq(ranks), self.num_hosts, msg="ran on {0} hosts instead of {1}"
                ),
            ]
        )
