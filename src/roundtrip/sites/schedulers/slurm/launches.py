"""What Slurm says of a launch: the allocation that its job printed, and messages in its output."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import MAINTENANCE, PREEMPTED, Allocation, Scheduler
from roundtrip.sites.schedulers.slurm.facts import expand_hosts

#: Commands of a job's script that print its allocation, and the other jobs on its nodes.
_ALLOCATED = "env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)='"
_OTHERS = (
    'env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" '
    "-o 'OTHER_JOB=%A|%U|%N' 2> /dev/null"
)
_OTHER_JOB = re.compile(r"OTHER_JOB=(\d{1,18})\|(\d{1,10})\|(\S+)")
#: Slurm's lists of nodes, and the size limit of a range of nodes.
_RANGES = r"\d{1,9}(-\d{1,9})?"
_HOSTS = re.compile(rf"([\w.-]{{1,255}}(\[{_RANGES}(,{_RANGES})*\])?(,|\Z)){{0,10000}}", re.ASCII)
_MOST_NODES = 100_000
#: Number of nodes that a message names.
_FEW_NODES = 4

#: srun's messages that nodes are down, and that a node, by its number, lost its step.
_NODE_DOWN = re.compile(r"^srun: error: Node failure on (\S+)$", re.MULTILINE)
_STEP_GONE = re.compile(r"^srun: error: Aborting, .*missing step on node (\d{1,6})$", re.MULTILINE)
#: slurmstepd's message in the standard error of a preempted job (slurmstepd/mgr.c).
_PREEMPTION = re.compile(
    r"^slurmstepd\S*: error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO PREEMPTION",
    re.MULTILINE,
)
#: Slurm's reason of a pending job, for which ReFrame cancels it.
_MAINTENANCE_REASON = re.compile(r"ReqNodeNotAvail, ?Reserved for maintenance")


class Launches(Scheduler):
    """What Slurm answers of launches."""

    variable_prefix = "SLURM_"
    node_variable = "SLURMD_NODENAME"
    # Others name accounts, jobs and nodes.
    public_variables = (
        *("SLURM_CPU_BIND", "SLURM_CPU_FREQ_REQ", "SLURM_DISTRIBUTION", "SLURM_EXACT"),
        *("SLURM_HINT", "SLURM_MEM_BIND", "SLURM_MPI_TYPE", "SLURM_OVERCOMMIT", "SLURM_OVERLAP"),
        *("SLURM_PMIX_DIRECT_CONN", "SLURM_THREADS_PER_CORE", "SLURM_WHOLE"),
    )
    nodes_in_command = re.compile(
        r"\b(?:salloc|sbatch|srun)\s(?:[^\n;|&]*?\s)?-[wx]\s+([A-Za-z][\w.,\[\]-]*)"
    )
    failed_rank = re.compile(
        r"^srun: error: (?P<host>\S+): tasks? (?P<ranks>[\d,-]+): (?P<how>[^\n]+)", re.MULTILINE
    )
    noise = "^slurmstepd|^srun: "

    def own_job(self) -> str | None:
        return os.environ.get("SLURM_JOB_ID")

    def allocation_commands(self) -> tuple[str, str]:
        return _ALLOCATED, _OTHERS

    def read_allocation(self, text: str) -> Allocation:
        lines = text.splitlines()
        variables = dict(line.split("=", 1) for line in lines if "=" in line)
        node_list = variables.get("SLURM_JOB_NODELIST", "")
        nodes = expand_nodes(node_list)
        if nodes is None:
            raise ValueError(f"{node_list[:60]!r} is no list of nodes")
        submit_host = variables.get("SLURM_SUBMIT_HOST", "").split(".")[0].casefold()
        job = variables.get("SLURM_JOB_ID", "")
        return Allocation(nodes, submit_host, job, _other_jobs(lines, nodes, variables), "Slurm")

    def displacement(self, reason: str, error: str) -> str:
        if _PREEMPTION.search(error):
            return PREEMPTED
        return MAINTENANCE if _MAINTENANCE_REASON.search(reason) else ""

    def nodes_down(self, error: str, nodes: Sequence[str]) -> set[str]:
        node_numbers = {int(number) for number in _STEP_GONE.findall(error)}
        down_nodes = {node for number, node in enumerate(nodes) if number in node_numbers}
        for node_list in _NODE_DOWN.findall(error):
            down_nodes.update(expand_nodes(node_list) or ())
        return down_nodes & {*nodes}


def _other_jobs(lines: Iterable[str], nodes: Sequence[str], variables: Mapping[str, str]) -> str:
    """Describe the other jobs on `nodes` by squeue's `lines`; "" without one."""
    jobs = [match.groups() for match in map(_OTHER_JOB.fullmatch, lines) if match]
    shared_nodes = {
        (job, uid): {*nodes} & {*(expand_nodes(node_list) or ())}
        for job, uid, node_list in jobs
        if job != variables.get("SLURM_JOB_ID")
    }
    other_jobs = [key for key, common in shared_nodes.items() if common]
    if not other_jobs:
        return ""
    job, uid = other_jobs[0]
    user = "the same user" if uid == variables.get("SLURM_JOB_UID") else "another user"
    more = f" and {len(other_jobs) - 1} more" if len(other_jobs) > 1 else ""
    common_nodes = sorted(set().union(*shared_nodes.values()))
    places = ", ".join(f"node {node}" for node in common_nodes[:_FEW_NODES])
    return f"co-scheduled: Slurm ran job {job} of {user}{more} on {places} at the same time"


def expand_nodes(node_list: str) -> tuple[str, ...] | None:
    """Return the nodes of Slurm's `node_list`; None if it is invalid."""
    spans = re.findall(r"(\d+)-(\d+)", node_list)
    if not _HOSTS.fullmatch(node_list) or any(int(b) - int(a) > _MOST_NODES for a, b in spans):
        return None
    try:
        return tuple(expand_hosts(node_list))
    except UserError:
        return None
