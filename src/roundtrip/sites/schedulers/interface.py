"""What Roundtrip asks a scheduler, and the values that it answers with.

`Scheduler` itself answers for a machine without one: it allocates no nodes and lists none, and
ranks are processes of this machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundtrip.sites.site import Finding, Site

#: Called as `run(*command)`; returns the output of the command, or None if it is missing or fails.
CommandRunner = Callable[..., str | None]
#: Why a scheduler displaced a launch: text that follows its title; for each the words after the
#: number of launches.
PREEMPTION = " preempted its job"
MAINTENANCE = " kept its nodes for maintenance"
JOB_FORGOTTEN = "'s controller lost its state: restarted, it does not know the job"
PHRASE_BY_DISPLACEMENT = {
    PREEMPTION: "preempted",
    MAINTENANCE: "for a maintenance",
    JOB_FORGOTTEN: "lost by a controller that restarted without its state",
}


#: Variants of the Spack packages of MPIs that start their ranks themselves.
SPACK_VARIANTS_BY_MPI = {
    "openmpi": "schedulers=none",
    "mpich": "+hydra ~slurm",
    "mvapich": "process_managers=hydra",
    "mvapich2": "process_managers=hydra",
}


class NoAnswerError(Exception):
    """The scheduler did not answer until the time limit of the campaign."""


def command_output(
    *command: str, environment: Mapping[str, str] | None = None, timeout_s: float | None = 20
) -> str | None:
    """Return the output of a command; None if it is missing, fails, or is late."""
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Some versions of srun list their plugins on standard error.
    return (process.stdout or process.stderr) if process.returncode == 0 else None


@dataclass(frozen=True)
class Node:
    """A node as reported; `down_reason` is why no job can run on it, "" if one can."""

    name: str
    state: str
    down_reason: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Allocation:
    """The nodes of a job, and its number, `job`; "" if unknown.

    `submit_host` is where it was submitted, without domain and in lower case.  `other_jobs` is a
    sentence about other jobs on these nodes when the launch began or ended, "" without any.
    """

    nodes: tuple[str, ...]
    submit_host: str
    job: str = ""
    other_jobs: str = ""
    scheduler: str = "the scheduler"


@dataclass(frozen=True)
class PendingJob:
    """A job that waits, and its `reason` or ""; times are seconds since 1970, None if unknown."""

    job: str
    reason: str
    submit_time: float | None
    start: float | None


@dataclass(frozen=True)
class Maintenance:
    """Nodes that the scheduler keeps for maintenance; times in seconds since 1970."""

    name: str
    nodes: str
    start: float
    end: float


@dataclass(frozen=True)
class SchedulerPartition:
    """A partition or queue; `hosts`: names of its nodes; `cores`, `sockets`: of each, or 0."""

    name: str
    is_default: bool
    nodes: int
    cores: int
    hosts: frozenset[str] = frozenset()
    sockets: int = 0


@dataclass(frozen=True)
class NodeGroup:
    """Identical nodes of a partition; `gres` as the scheduler writes it (``gpu:a100:2``), or ""."""

    nodes: int
    cores: int
    features: tuple[str, ...]
    gres: str

    def __str__(self) -> str:
        features = [*self.features, *([self.gres] if self.gres else [])]
        suffix = f" ({', '.join(features)})" if features else ""
        return f"{self.nodes} with {self.cores} cores each{suffix}"


@dataclass(frozen=True)
class PartitionLimits:
    """Limits of a partition: whether it starts jobs, its longest job (None: any), and the QOS and
    accounts that may use it (empty: all)."""

    is_up: bool = True
    max_job_s: int | None = None
    allowed_qos: tuple[str, ...] = ()
    allowed_accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cluster:
    """What a scheduler says of its cluster, None or empty if unknown.

    `offered_pmis` are those of its launcher, and `binds_tasks` is whether that binds ranks.
    `accounting`: whether results of ended jobs are kept.  `max_job_s_by_qos`: None without a limit.
    `nodes_by_switch`: leaf switches only.  `config_text` is what the scheduler prints.
    """

    version: str | None = None
    partitions: tuple[SchedulerPartition, ...] = ()
    offered_pmis: tuple[str, ...] = ()
    binds_tasks: bool | None = None
    accounting: bool | None = None
    node_groups_by_partition: Mapping[str, tuple[NodeGroup, ...]] = field(default_factory=dict)
    limits_by_partition: Mapping[str, PartitionLimits] = field(default_factory=dict)
    max_job_s_by_qos: Mapping[str, int | None] = field(default_factory=dict)
    user_accounts: tuple[str, ...] = ()
    nodes_by_switch: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config_text: str = ""

    def limits_of(self, partition: str) -> PartitionLimits:
        """Return the limits of the partition; no limit if the scheduler reports none."""
        return self.limits_by_partition.get(partition, PartitionLimits())

    @property
    def usable_partitions(self) -> list[SchedulerPartition]:
        """The partitions that start jobs: the default one, then those with most nodes."""
        usable = [item for item in self.partitions if self.limits_of(item.name).is_up]
        return sorted(usable, key=lambda p: (not p.is_default, -p.nodes, p.name))

    @property
    def distinct_partitions(self) -> list[SchedulerPartition]:
        """The first usable partition, and each other one with at least two nodes of its own.

        A scheduler often offers the same nodes in several partitions; they are measured only once.
        """
        partitions: list[SchedulerPartition] = []
        hosts: set[str] = set()
        for partition in self.usable_partitions:
            if not partitions or len(partition.hosts - hosts) > 1:
                partitions.append(partition)
                hosts |= partition.hosts
        return partitions


@dataclass(frozen=True)
class NewSiteTexts:
    """Texts for the files of a new site that follow from its scheduler.

    `keys_text` and `tables_text` are parts of site.toml, before and after the values of its fabric;
    `unknown_keys` and `unknown_values` what of them the user has to look up, `decisions` what to
    decide.  `fact_lines` are for people; `environment_text` is for the file ``environment``.
    """

    keys_text: str = ""
    unknown_keys: Sequence[str] = ()
    tables_text: str = ""
    unknown_values: Sequence[str] = ()
    decisions: Sequence[str] = ()
    fact_lines: Sequence[str] = ()
    environment_text: str = ""


@dataclass(frozen=True)
class LauncherOptions:
    """A launcher's options: to bind each rank to a core, to place two ranks of a node on one socket
    or on two, and to end a launch as soon as a rank fails."""

    bind: Sequence[str]
    one_socket: Sequence[str]
    two_sockets: Sequence[str]
    fail_fast: Sequence[str] = ()
    #: The beginning of the option that chooses a PMI.
    pmi_prefix: str = ""


class Scheduler:
    """A scheduler: its names, and the questions that a campaign and a site ask it."""

    #: In case.json, and its file in ``site-configs/base``, without ``.toml``; for people.
    key, title = "", "the scheduler"
    #: Whether launches run in jobs with nodes of their own, and it lists its nodes.
    allocates_nodes = False
    #: ReFrame's schedulers that submit to it, and its launchers whose launches are steps of the
    #: job that runs ReFrame.
    reframe_schedulers: tuple[str, ...] = ()
    step_launchers: tuple[str, ...] = ()
    #: ReFrame's launcher that starts ranks by the scheduler itself, and its options.
    launcher = ""
    launcher_options: LauncherOptions | None = None
    #: Its commands; the folder of wrappers that run them again while it does not answer; the
    #: commands that list nodes, that say how jobs ended, and that say it while that one does not.
    commands: tuple[str, ...] = ()
    wrapper_folder: Path | None = None
    node_list_command = accounting_command = accounting_fallback_command = ""
    #: The daemon that starts ranks.
    node_daemon = "the scheduler"
    #: Its name in Spack, "" if no MPI is built with it, its header and its library.
    spack_package = header_file = library_file = ""
    #: Variables that it sets: their prefix; the name of the node; those that place and bind ranks,
    #: which are public.
    variable_prefix = node_variable = ""
    public_variables: tuple[str, ...] = ()
    #: Matches the nodes, its group, in a command that submits.
    node_list_pattern: re.Pattern[str] | None = None
    #: Matches its launcher's message of a failed rank, with the groups `host`, `ranks` and `how`;
    #: the beginnings of lines on standard error that do not say why a program failed.
    failed_rank_pattern: re.Pattern[str] | None = None
    noise_pattern = ""

    # Jobs

    def reframe_job_options(self, comment: str = "") -> list[str]:
        """Return ReFrame's options that mark each job with `comment` and forbid to requeue it."""
        return []

    def node_options(self, nodes: Sequence[str], access: Iterable[str] = ()) -> list[str]:
        """Return a job's options that choose its `nodes`, besides the partition's `access`."""
        return []

    def node_count_options(self, nodes: int) -> list[str]:
        """Return a job's options that request `nodes` nodes, whatever its tasks need."""
        return []

    def retrying_environment(
        self, base: Mapping[str, str], deadline: float, log: Path | None
    ) -> dict[str, str]:
        """Return `base` with a PATH whose commands wait for an answer until `deadline`, Unix time,
        and write their waits into `log` (`measure.scheduler`)."""
        return dict(base)

    def is_no_answer_message(self, text: str) -> bool:
        """Whether `text` is what a command prints when the scheduler does not answer."""
        return False

    def is_submit_limit_message(self, text: str) -> bool:
        """Whether `text` says that a user or account may submit no more jobs now."""
        return False

    def cancel_jobs(self, comment: str, environment: Mapping[str, str]) -> list[str]:
        """Cancel the jobs with `comment`, and return their ids; NoAnswerError without an answer,
        UserError if it refuses for another reason."""
        return []

    def find_pending_job(
        self, comment: str, environment: Mapping[str, str], timeout_s: float
    ) -> PendingJob | None:
        """Return the first job with `comment` that waits; None without one or an answer."""
        return None

    def collect_maintenances(self, environment: Mapping[str, str]) -> list[Maintenance]:
        """Return the maintenances, sorted by end; none without an answer."""
        return []

    # Nodes

    def collect_nodes(
        self, partition: Mapping[str, Any], subject: str, environment: Mapping[str, str]
    ) -> list[Node]:
        """Return the nodes that the options of ReFrame's `partition` choose, sorted by name.
        UserError about `subject`, as "nodes of partition 'ib'", if it lists or chooses none."""
        return []

    def collect_node_names(self) -> list[str]:
        """Return the names of all nodes; [] without an answer."""
        return []

    def drain_command(self, host: str, reason: str) -> list[str]:
        """Return the command, as arguments, by which an operator takes node `host` out of use."""
        return []

    # The job of a launch

    def current_job_id(self) -> str | None:
        """Return the number of the job that runs this process; None outside of a job."""
        return None

    def allocation_commands(self) -> tuple[str, str]:
        """Two shell pipelines: one prints the job and its nodes, one the other jobs on them."""
        return "true", "true"

    def parse_allocation(self, text: str) -> Allocation:
        """Parse what the commands printed; ValueError if it cannot be parsed."""
        return Allocation((), "")

    def displacement_reason(self, reason: str, error: str) -> str:
        """Return why the scheduler ended a launch or never began it, a key of
        `PHRASE_BY_DISPLACEMENT`; "" if the launch itself failed.

        `reason` is ReFrame's reason, `error` the end of the job's standard error.
        """
        return ""

    def nodes_down(self, error: str, nodes: Sequence[str]) -> set[str]:
        """Return which of `nodes`, those of a launch in order, failed by the standard `error`."""
        return set()

    # Sites

    def collect_cluster(self, run: CommandRunner = command_output) -> Cluster:
        """Query the cluster; `run(*command)` returns a command's output, or None if it fails."""
        return Cluster()

    def check_site(self, site: Site, cluster: Cluster) -> list[Finding]:
        """Compare what `site` asks with `cluster`, or say why that was not checked."""
        return [Finding("not checked", "scheduler", "the site names none")]

    def time_limit_fault(self, script: str, partition: Mapping[str, Any], cluster: Cluster) -> str:
        """A sentence if `script` asks more time than ReFrame's `partition` allows, or ""."""
        return ""

    def check_job_results(self, site: Site) -> tuple[str, str] | None:
        """Return how ReFrame learns the results of jobs, in words, and ""; if it cannot, why, and
        the ReFrame scheduler that can.  None if nothing is to be checked."""
        return None

    def new_site_texts(
        self, cluster: Cluster, partitions: Sequence[SchedulerPartition], has_library: bool
    ) -> NewSiteTexts:
        """Return texts for a new site on `partitions`; `has_library`: whether programs can be built
        with the scheduler's library."""
        return NewSiteTexts()

    def parse_partition_size(self, text: str, partition: str) -> dict[str, int]:
        """Return the number of ``nodes`` of a partition, and the smallest ``cores`` and ``sockets``
        of a node, as far as the `text` of the scheduler's configuration gives them."""
        return {}

    def pmix_series(self, pmis: Iterable[str]) -> str | None:
        """Return the PMIx series for MPIs where its launcher offers `pmis`; None: unknown."""
        return None

    def spack_variants(self, cluster: Cluster, has_library: bool) -> dict[str, str]:
        """Return by MPI the variants of its Spack package with which it is built for the program
        that starts it on `cluster`; here for its own."""
        return dict(SPACK_VARIANTS_BY_MPI)

    def spack_spec(self, version: str) -> str:
        """Return the Spack spec of this scheduler's `version`."""
        return f"{self.spack_package}@{version}"
