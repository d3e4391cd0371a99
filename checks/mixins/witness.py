"""The nodes of the ranks of a third-party program: each prints its node, then runs the program.

The scheduler's list of nodes is only the allocation, and some schedulers give none: only the launch
knows the real nodes of ranks.  Simulated ranks are no processes: SimGrid prints their hosts.
"""

import pathlib
import re
import shlex

import reframe as rfm
import reframe.utility.sanity as sn

from roundtrip.host.programs import MPI_LIBRARY

#: Prints to standard error, where no output is parsed: host, its name in Slurm, and the MPI library
#: that the loader finds for the program, also by LD_PRELOAD.
_WRAPPER_SCRIPT = (
    r'mpi=$(ldd "$(command -v "$1")" 2>/dev/null | '
    r'sed -En "s,^\s*(.* => )?(/.*/' + MPI_LIBRARY + r') \(.*,\2,p"); '
    'echo "ROUNDTRIP RANK ON $(uname -n) ${SLURMD_NODENAME:--} ${mpi:+$(realpath "$mpi")}" >&2; '
    'exec "$@"'
)
#: A line may follow an unfinished one of another rank.
_RANK_LINE = re.compile(
    r"(?:ROUNDTRIP RANK ON|^.*\[smpi/INFO\] \[rank \d+\] ->) (?P<host>\S+)"
    r"(?: (?P<node>\S+) (?P<mpi>.*))?$",
    re.MULTILINE,
)
#: Options by which smpirun prints the hosts of ranks.
_SIMULATOR_OPTIONS = ("-map", "--log=smpi.thres:info")


def _rank_lines(check):
    """Return the lines of the ranks of a launch, as matches, in order."""
    text = pathlib.Path(check.stagedir, str(check.stderr)).read_text(errors="replace")
    return list(_RANK_LINE.finditer(text))


class Witnessed(rfm.RegressionTestPlugin):
    """Needs `num_tasks`, `num_hosts` (mixin Placement) and `simulated` (mixin Simulation)."""

    def wrap_executable(self):
        """Let each rank print its node, then execute `executable` with its options."""
        if self.simulated:
            self.executable_opts = []
            self.job.launcher.options = [*self.job.launcher.options, *_SIMULATOR_OPTIONS]
            return
        self.executable_opts = ["-c", shlex.quote(_WRAPPER_SCRIPT), "sh", self.executable]
        self.executable = "sh"

    def identity_entries(self):
        """Return `hosts` and `identity` (host and MPI library of each rank) of run.json."""
        hosts = list(dict.fromkeys(match["host"] for match in _rank_lines(self)))
        identities = [
            {
                "host": match["host"],
                "ranks": [number],
                "slurm_node": None if match["node"] == "-" else match["node"],
                "file": match["mpi"] if match["mpi"].startswith("/") else None,
            }
            for number, match in enumerate(_rank_lines(self))
            if match["node"]
        ]
        return {"hosts": hosts, "identity": identities}

    def ranks_are_complete(self):
        """Assert that `num_tasks` ranks ran on `num_hosts` nodes."""
        hosts = [match["host"] for match in _rank_lines(self)]
        return sn.all(
            [
                sn.assert_eq(len(hosts), self.num_tasks, msg="ran with {0} ranks instead of {1}"),
                sn.assert_eq(
                    len(set(hosts)), self.num_hosts, msg="ran on {0} hosts instead of {1}"
                ),
            ]
        )
