"""What each rank of a third-party program prints of its host, software and disturbances.

The scheduler's list of nodes is only the allocation, and some schedulers give none: only the launch
knows the real nodes of ranks.  Simulated ranks are no processes: SimGrid prints their hosts.
"""

import contextlib
import json
import pathlib
import re
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import fixture

from roundtrip.sites import schedulers

from .build import build_workload

#: The name that the scheduler gives the node, in syntax of the shell; a dash without one.
_NODE_NAME_EXPRESSION = "-"
for _variable in filter(None, (item.node_variable for item in schedulers.SCHEDULERS)):
    _NODE_NAME_EXPRESSION = f"${{{_variable}:-{_NODE_NAME_EXPRESSION}}}"
#: Prints to standard error, where no output is parsed: host, process, and that name of the node.
#: The preloaded library (``workloads/witness``) prints the rest, unless the program is static.
_WRAPPER_SCRIPT = (
    f'echo "ROUNDTRIP RANK ON $(uname -n) $$ {_NODE_NAME_EXPRESSION}" >&2; '
    'witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"'
)
#: A line may follow an unfinished one of another rank.
_RANK_LINE_PATTERN = re.compile(
    r"(?:ROUNDTRIP RANK ON|^.*\[smpi/INFO\] \[rank (?P<process>\d+)\] ->) (?P<host>\S+)"
    r"(?: (?P<pid>\d+) (?P<facts>.*))?$",
    re.MULTILINE,
)
#: Options by which smpirun prints the hosts of ranks.
_SIMULATOR_OPTIONS = ("-map", "--log=smpi.thres:info")


def _rank_facts(check):
    """Return the facts that each rank printed, such as `host`, as dicts in order of ranks."""
    text = pathlib.Path(check.stagedir, str(check.stderr)).read_text(errors="replace")
    ranks = {}
    for line in _RANK_LINE_PATTERN.finditer(text):
        facts = ranks.setdefault((line["host"], line["pid"] or line["process"]), {})
        facts["host"] = line["host"]
        if (line["facts"] or "").startswith("{"):
            with contextlib.suppress(ValueError):  # cut, as its rank was killed
                facts.update(json.loads(line["facts"]))
        elif line["facts"]:
            facts["slurm_node"] = None if line["facts"] == "-" else line["facts"]
    rank_facts = list(ranks.values())
    is_numbered = all(rank.get("rank") is not None for rank in rank_facts)
    return sorted(rank_facts, key=lambda rank: rank["rank"]) if is_numbered else rank_facts


def _disturbance_entry(ranks):
    """Return the entry `disturbance` of run.json; None unless every rank printed its part."""
    rows = [rank.get("disturbance") for rank in ranks]
    if not rows or None in rows:
        return None
    steals = {rank["host"]: row.pop("steal_s") for rank, row in zip(ranks, rows, strict=True)}
    ends = [row.pop("load_average") for row in rows]
    return {
        "load_average_start": ranks[0]["load_average_start"],
        "load_average_end": ends[0],
        "steal_s": None if None in steals.values() else sum(steals.values()),
        **{name: [row[name] for row in rows] for name in rows[0]},
    }


def _node_entries(ranks):
    """Return the entry `nodes` of run.json: facts and traffic of each host, by its first rank."""
    hosts = {}
    for rank in ranks:
        if "node" in rank:
            facts = {"host": rank["host"], **rank["node"], **rank.get("traffic", {})}
            hosts.setdefault(rank["host"], facts)
    return list(hosts.values())


class build_witness(build_workload):
    """Builds the library that each rank preloads, which prints facts of the rank."""

    workload = "witness"
    valid_prog_environs = ["+mpi"]

    @property
    def program(self):
        return self.program_path("witness.so")


class Witnessed(rfm.RegressionTestPlugin):
    """Lets each rank of a third-party program print its host and other facts, for run.json.

    Needs the mixins Placement and Simulation.
    """

    witness = fixture(build_witness, scope="environment")

    def wrap_executable(self):
        """Make `executable` a script that prints facts of the rank, then runs the program."""
        if self.simulated:
            self.executable_opts = []
            self.job.launcher.options = [*self.job.launcher.options, *_SIMULATOR_OPTIONS]
            return
        words = [shlex.quote(_WRAPPER_SCRIPT), "sh", shlex.quote(self.witness.program)]
        self.executable_opts = ["-c", *words, self.executable]
        self.executable = "sh"

    def rank_entries(self):
        """Return the entries of run.json on its ranks: hosts, software, processors, disturbances.

        Ranks of a static program name only their hosts.
        """
        ranks = _rank_facts(self)
        disturbance = _disturbance_entry(ranks)
        return {
            "hosts": list(dict.fromkeys(rank["host"] for rank in ranks)),
            "identity": [
                {
                    "host": rank["host"],
                    "ranks": [number],
                    "slurm_node": rank["slurm_node"],
                    **rank.get("identity", {}),
                }
                for number, rank in enumerate(ranks)
                if "slurm_node" in rank
            ],
            "placement": [
                {"rank": number, "host": rank["host"], "cpus": rank["cpus"]}
                for number, rank in enumerate(ranks)
                if "cpus" in rank
            ],
            "nodes": _node_entries(ranks),
            "disturbance": disturbance,
            "elapsed_s": disturbance and max(disturbance["duration_s"]),
        }

    def assert_ranks_complete(self):
        """Assert that `num_tasks` ranks ran on `num_hosts` nodes."""
        hosts = [rank["host"] for rank in _rank_facts(self)]
        return sn.all(
            [
                sn.assert_eq(len(hosts), self.num_tasks, msg="ran with {0} ranks instead of {1}"),
                sn.assert_eq(
                    len(set(hosts)), self.num_hosts, msg="ran on {0} hosts instead of {1}"
                ),
            ]
        )
