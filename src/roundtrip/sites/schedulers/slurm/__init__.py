"""Slurm: its commands, options, variables and messages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.sites.schedulers import interface
from roundtrip.sites.schedulers.interface import Maintenance, PendingJob, Scheduler, command_output
from roundtrip.sites.schedulers.slurm import facts, site
from roundtrip.sites.schedulers.slurm.facts import expand_host_list, parse_scontrol_records

#: sbatch's message and the limits on submitted jobs; a job that may never run has others.
_SUBMIT_LIMIT_PATTERN = re.compile(
    r"job submit limit|(?:Assoc|QOS)\w*MaxSubmit\w*|(?:Assoc|QOS)GrpSubmit\w*|MaxJobCount"
)
#: Job, state, reason, expected start, submission time, comment, which may hold any character.
_SQUEUE_FORMAT = "%i|%T|%r|%S|%V|%k"
#: Lets Slurm's commands print Unix time.
_UNIX_TIMES = {"SLURM_TIME_FORMAT": "%s"}
#: A line that the second of `allocation_commands` prints: job, user and nodes.
_OTHER_JOB_PATTERN = re.compile(r"OTHER_JOB=(\d{1,18})\|(\d{1,10})\|(\S+)")
#: Slurm's lists of nodes, and the size limit of a range of nodes.
_NUMBER_RANGE_PATTERN = r"\d{1,9}(-\d{1,9})?"
_NODE_LIST_PATTERN = re.compile(
    rf"([\w.-]{{1,255}}(\[{_NUMBER_RANGE_PATTERN}(,{_NUMBER_RANGE_PATTERN})*\])?(,|\Z)){{0,10000}}",
    re.ASCII,
)
_MAX_RANGE_NODES = 100_000
#: srun's messages that nodes are down, and that a node, by its number, lost its step.
_NODE_FAILURE_PATTERN = re.compile(r"^srun: error: Node failure on (\S+)$", re.MULTILINE)
_MISSING_STEP_PATTERN = re.compile(
    r"^srun: error: Aborting, .*missing step on node (\d{1,6})$", re.MULTILINE
)
#: slurmstepd's message in the standard error of a preempted job (slurmstepd/mgr.c).
_PREEMPTION_PATTERN = re.compile(
    r"^slurmstepd\S*: error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO PREEMPTION",
    re.MULTILINE,
)


class Slurm(Scheduler):
    """Slurm as ReFrame submits to it, with accounting (`slurm`) or without (`squeue`)."""

    key = "slurm"
    title = "Slurm"
    allocates_nodes = True
    reframe_schedulers = ("slurm", "squeue")
    step_launchers = ("srunalloc",)
    launcher = "srun"
    launcher_options = interface.LauncherOptions(
        bind=("--cpu-bind=cores",),
        one_socket=("--distribution=block:block",),
        two_sockets=("--distribution=block:cyclic",),
        fail_fast=("--kill-on-bad-exit=1",),
        pmi_prefix="--mpi=",
    )
    commands = ("sinfo", "squeue", "sacct", "scontrol", "scancel", "sbatch")
    wrapper_folder: Path = Path(__file__).parent / "commands"
    node_list_command = "sinfo"
    accounting_command = "sacct"
    accounting_fallback_command = "scontrol"
    node_daemon = "slurmd"
    spack_package, header_file, library_file = "slurm", "slurm/slurm.h", "libslurm.so"
    variable_prefix = "SLURM_"
    node_variable = "SLURMD_NODENAME"
    # Others name accounts, jobs and nodes.
    public_variables = (
        *("SLURM_CPU_BIND", "SLURM_CPU_FREQ_REQ", "SLURM_DISTRIBUTION", "SLURM_EXACT"),
        *("SLURM_HINT", "SLURM_MEM_BIND", "SLURM_MPI_TYPE", "SLURM_OVERCOMMIT", "SLURM_OVERLAP"),
        *("SLURM_PMIX_DIRECT_CONN", "SLURM_THREADS_PER_CORE", "SLURM_WHOLE"),
    )
    node_list_pattern = re.compile(
        r"\b(?:salloc|sbatch|srun)\s(?:[^\n;|&]*?\s)?-[wx]\s+([A-Za-z][\w.,\[\]-]*)"
    )
    failed_rank_pattern = re.compile(
        r"^srun: error: (?P<host>\S+): tasks? (?P<ranks>[\d,-]+): (?P<how>[^\n]+)", re.MULTILINE
    )
    noise_pattern = "^slurmstepd|^srun: "

    collect_cluster = staticmethod(facts.collect_cluster)
    collect_nodes = staticmethod(facts.collect_nodes)
    parse_partition_size = staticmethod(facts.parse_partition_size)
    pmix_series = staticmethod(facts.pmix_series)
    time_limit_fault = staticmethod(site.time_limit_fault)
    check_job_results = staticmethod(site.check_job_results)
    check_site = staticmethod(site.check_site)
    new_site_texts = staticmethod(site.new_site_texts)
    spack_variants = staticmethod(site.spack_variants)

    def reframe_job_options(self, comment: str = "") -> list[str]:
        mark = [f"--job-option=comment={comment}"] if comment else []
        # Slurm may hold a requeued job for ever ("launch failed requeued held"), and ReFrame waits.
        return [*mark, "--job-option=--no-requeue"]

    def node_options(self, nodes: Sequence[str], access: Iterable[str] = ()) -> list[str]:
        # If a partition requests one switch, a pair on two switches would wait for ever.
        asks_one_switch = any("--switches" in option for option in access)
        return [f"--nodelist={','.join(nodes)}", *(["--switches=2"] if asks_one_switch else [])]

    def node_count_options(self, nodes: int) -> list[str]:
        # It comes after any --nodes that ReFrame adds, and the last option wins.
        return [f"--nodes={nodes}"]

    def retrying_environment(
        self, base: Mapping[str, str], deadline: float, log: Path | None
    ) -> dict[str, str]:
        variables = {"ROUNDTRIP_SLURM_DEADLINE": str(int(deadline))}
        if log:
            variables["ROUNDTRIP_SLURM_LOG"] = str(log)
        return {**base, "PATH": f"{self.wrapper_folder}:{base['PATH']}", **variables}

    def is_no_answer_message(self, text: str) -> bool:
        return not subprocess.run(
            [self.wrapper_folder / "retry", text.replace("\0", "")]
        ).returncode

    def is_submit_limit_message(self, text: str) -> bool:
        return _SUBMIT_LIMIT_PATTERN.search(text) is not None

    def cancel_jobs(self, comment: str, environment: Mapping[str, str]) -> list[str]:
        """As `Scheduler.cancel_jobs`, by scancel; UserError if Slurm refuses."""
        if shutil.which("squeue", path=environment.get("PATH")) is None:
            return []
        query = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i %k"]
        listing = subprocess.run(query, capture_output=True, text=True, env=environment)
        self._require_success(listing, "cannot see which jobs there are")
        lines = (line.partition(" ") for line in listing.stdout.splitlines())
        jobs = [job for job, _, text in lines if text.strip() == comment]
        if jobs:
            command = ["scancel", *jobs]
            process = subprocess.run(command, capture_output=True, text=True, env=environment)
            self._require_success(process, f"cannot cancel jobs {' '.join(jobs)}")
        return jobs

    def _require_success(self, process: subprocess.CompletedProcess[str], problem: str) -> None:
        if not process.returncode:
            return
        error = process.stderr.strip()
        if self.is_no_answer_message(error):
            raise interface.NoAnswerError(error)
        raise UserError(f"{problem}: {error.splitlines()[-1] if error else 'no reason given'}")

    def find_pending_job(
        self, comment: str, environment: Mapping[str, str], timeout_s: float
    ) -> PendingJob | None:
        command = ("squeue", "--noheader", "--me", "--states=PENDING", f"--format={_SQUEUE_FORMAT}")
        listing = command_output(
            *command, environment={**environment, **_UNIX_TIMES}, timeout_s=timeout_s
        )
        return parse_pending_job(listing or "", comment)

    def collect_maintenances(self, environment: Mapping[str, str]) -> list[Maintenance]:
        command = ("scontrol", "show", "reservation", "--oneliner")
        text = command_output(*command, environment={**environment, **_UNIX_TIMES}, timeout_s=None)
        return parse_maintenances(text or "")

    def collect_node_names(self) -> list[str]:
        return (command_output("sinfo", "--noheader", "--Node", "--format=%N") or "").split()

    def drain_command(self, host: str, reason: str) -> list[str]:
        return ["scontrol", "update", f"NodeName={host}", "State=DRAIN", f"Reason={reason}"]

    def current_job_id(self) -> str | None:
        return os.environ.get("SLURM_JOB_ID")

    def allocation_commands(self) -> tuple[str, str]:
        own = "env | grep -E '^SLURM_(JOB_ID|JOB_UID|JOB_NODELIST|SUBMIT_HOST)='"
        others = (
            'env -u ROUNDTRIP_SLURM_DEADLINE timeout 10 squeue -h -t R,S -w "$SLURM_JOB_NODELIST" '
            "-o 'OTHER_JOB=%A|%U|%N' 2> /dev/null"
        )
        return own, others

    def parse_allocation(self, text: str) -> interface.Allocation:
        lines = text.splitlines()
        variables = dict(line.split("=", 1) for line in lines if "=" in line)
        node_list = variables.get("SLURM_JOB_NODELIST", "")
        nodes = parse_node_list(node_list)
        if nodes is None:
            raise ValueError(f"{node_list[:60]!r} is no list of nodes")
        submit_host = variables.get("SLURM_SUBMIT_HOST", "").split(".")[0].casefold()
        job = variables.get("SLURM_JOB_ID", "")
        return interface.Allocation(
            nodes, submit_host, job, _describe_other_jobs(lines, nodes, variables), "Slurm"
        )

    def displacement_reason(self, reason: str, error: str) -> str:
        if _PREEMPTION_PATTERN.search(error):
            return interface.PREEMPTION
        # The reason of a pending job, for which ReFrame cancels it.
        is_maintenance = re.search(r"ReqNodeNotAvail, ?Reserved for maintenance", reason)
        return interface.MAINTENANCE if is_maintenance else ""

    def nodes_down(self, error: str, nodes: Sequence[str]) -> set[str]:
        node_numbers = {int(number) for number in _MISSING_STEP_PATTERN.findall(error)}
        down_nodes = {node for number, node in enumerate(nodes) if number in node_numbers}
        for node_list in _NODE_FAILURE_PATTERN.findall(error):
            down_nodes.update(parse_node_list(node_list) or ())
        return down_nodes & {*nodes}

    def spack_spec(self, version: str) -> str:
        # Spack writes 23.11.1 as 23-11-1-1.
        match = re.match(r"[\d.]+", version)
        number = match[0] if match else version
        return f"slurm@{number.replace('.', '-')}{'' if number.count('.') > 2 else '-1'}"


def parse_pending_job(listing: str, comment: str) -> PendingJob | None:
    """Return the first job with `comment` that waits in squeue's output; None without one."""
    for line in listing.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6 or fields[1] != "PENDING" or fields[5].strip() != comment:
            continue
        job, _, reason, start, submit_time, _ = fields
        times = (float(text) if text.isdigit() else None for text in (submit_time, start))
        # None: the scheduler has not looked at it yet.
        return PendingJob(job, "" if reason == "None" else reason, *times)
    return None


def parse_maintenances(text: str) -> list[Maintenance]:
    """Parse ``scontrol show reservation``, whose times may be local: maintenances by end."""
    maintenances = []
    for fields in parse_scontrol_records(text):
        if "MAINT" not in fields.get("Flags", "").split(","):
            continue
        start, end = (_unix_time(fields.get(key, "")) for key in ("StartTime", "EndTime"))
        if start is not None and end is not None:
            name, nodes = fields.get("ReservationName", "?"), fields.get("Nodes", "nodes")
            maintenances.append(Maintenance(name, nodes, start, end))
    return sorted(maintenances, key=lambda maintenance: maintenance.end)


def _unix_time(text: str) -> float | None:
    try:
        return float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def _describe_other_jobs(
    lines: Iterable[str], nodes: Sequence[str], variables: Mapping[str, str]
) -> str:
    """Return a sentence about the other jobs on `nodes` in squeue's `lines`; "" without one."""
    jobs = [match.groups() for match in map(_OTHER_JOB_PATTERN.fullmatch, lines) if match]
    shared_nodes = {
        (job, uid): {*nodes} & {*(parse_node_list(node_list) or ())}
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
    places = ", ".join(f"node {node}" for node in common_nodes[:4])
    return f"co-scheduled: Slurm ran job {job} of {user}{more} on {places} at the same time"


def parse_node_list(node_list: str) -> tuple[str, ...] | None:
    """Return the nodes of Slurm's `node_list`; None if it is invalid."""
    spans = re.findall(r"(\d+)-(\d+)", node_list)
    if not _NODE_LIST_PATTERN.fullmatch(node_list) or any(
        int(b) - int(a) > _MAX_RANGE_NODES for a, b in spans
    ):
        return None
    try:
        return tuple(expand_host_list(node_list))
    except UserError:
        return None
