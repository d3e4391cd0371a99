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

#: Runs a command; its output, or None if it is missing or fails.
Runner = Callable[..., str | None]
#: Why a scheduler displaced a launch, after its title; how many launches it did, in words.
PREEMPTED = " preempted its job"
MAINTENANCE = " kept its nodes for maintenance"
FORGOTTEN = "'s controller lost its state: restarted, it does not know the job"
DISPLACED_BY = {
    PREEMPTED: "preempted",
    MAINTENANCE: "for a maintenance",
    FORGOTTEN: "lost by a controller that restarted without its state",
}


class NoAnswerError(Exception):
    """The scheduler did not answer until the time limit of the campaign."""


def command_output(*command: str) -> str | None:
    """Return the output of a command; None if it is missing or fails."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=20)
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
    """The nodes of a job; the host of its submission, without domain and in lower case, and its
    number, "" if unknown; other jobs on these nodes when the launch began or ended, or ""."""

    nodes: tuple[str, ...]
    submit_host: str
    job: str = ""
    other_jobs: str = ""
    scheduler: str = "the scheduler"


@dataclass(frozen=True)
class PendingJob:
    """A job that waits, and the scheduler's `reason`, "" without one; times are seconds since 1970,
    None if unknown."""

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
class Partition:
    """A partition or queue: nodes (`hosts`), `cores` and `sockets` of each, 0 if unknown."""

    name: str
    default: bool
    nodes: int
    cores: int
    hosts: frozenset[str] = frozenset()
    sockets: int = 0


@dataclass(frozen=True)
class Kind:
    """Identical nodes of a partition; `gres` as the scheduler writes it (``gpu:a100:2``), or ""."""

    nodes: int
    cores: int
    features: tuple[str, ...]
    gres: str

    def __str__(self) -> str:
        parts = [f"{self.nodes} of {self.cores} cores", *self.features]
        return ", ".join([*parts, *([self.gres] if self.gres else [])])


@dataclass(frozen=True)
class Limits:
    """Limits of a partition: longest job (None: any), allowed QOS and accounts (empty: all)."""

    up: bool = True
    longest_s: int | None = None
    qos: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cluster:
    """What a scheduler says of its cluster, None or empty if unknown.

    `pmi` has the PMIs that its launcher offers; `binds_tasks` is whether that binds ranks,
    `accounting` whether the ends of jobs are kept.  `qos` has the longest job of each QOS, s, None
    without a limit; `switches` the nodes of each leaf switch; `config` is the configuration, as the
    scheduler prints it.
    """

    version: str | None = None
    partitions: tuple[Partition, ...] = ()
    pmi: tuple[str, ...] = ()
    binds_tasks: bool | None = None
    accounting: bool | None = None
    kinds: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    limits: Mapping[str, Limits] = field(default_factory=dict)
    qos: Mapping[str, int | None] = field(default_factory=dict)
    accounts: tuple[str, ...] = ()
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    config: str = ""

    def limit(self, partition: str) -> Limits:
        """Return the limits of the partition; no limit if the scheduler reports none."""
        return self.limits.get(partition, Limits())

    @property
    def usable_partitions(self) -> list[Partition]:
        """The partitions that start jobs: the default one, then those with most nodes."""
        usable = [item for item in self.partitions if self.limit(item.name).up]
        return sorted(usable, key=lambda p: (not p.default, -p.nodes, p.name))

    @property
    def distinct_partitions(self) -> list[Partition]:
        """The first usable partition, and each other one with at least two nodes of its own.

        A scheduler often offers the same nodes in several partitions; they are measured only once.
        """
        partitions: list[Partition] = []
        hosts: set[str] = set()
        for partition in self.usable_partitions:
            if not partitions or len(partition.hosts - hosts) > 1:
                partitions.append(partition)
                hosts |= partition.hosts
        return partitions


@dataclass(frozen=True)
class SitePart:
    """What of a new site follows from its scheduler.

    `keys` and `tables` are text of site.toml, before and after the values of its fabric;
    `unknown_keys` and `unknown_values` what of them the user has to look up, `decisions` what to
    decide.  `lines` are facts for people; `environment` is the text of the file of that name.
    """

    keys: str = ""
    unknown_keys: Sequence[str] = ()
    tables: str = ""
    unknown_values: Sequence[str] = ()
    decisions: Sequence[str] = ()
    lines: Sequence[str] = ()
    environment: str = ""


@dataclass(frozen=True)
class LauncherOptions:
    """Options by which a launcher binds each rank to a core, places two ranks of a node on one
    socket or on two, and ends a launch as soon as a rank fails."""

    bind: Sequence[str]
    one_socket: Sequence[str]
    two_sockets: Sequence[str]
    fail_fast: Sequence[str] = ()
    #: The beginning of the option that chooses a PMI.
    pmi: str = ""


class Scheduler:
    """A scheduler: its names, and the questions that a campaign and a site ask it."""

    #: In case.json; for people.
    key, title = "", "the scheduler"
    #: Whether launches run in jobs with nodes of their own, and it lists its nodes.
    allocates = False
    #: ReFrame's schedulers that submit to it, and its launchers whose launches are steps of the
    #: job that runs ReFrame.
    reframe_schedulers: tuple[str, ...] = ()
    step_launchers: tuple[str, ...] = ()
    #: ReFrame's launcher that starts ranks by the scheduler itself, and its options.
    launcher = ""
    launcher_options: LauncherOptions | None = None
    #: Its commands; the folder of wrappers that run them again while it does not answer; the ones
    #: that list nodes, that say how jobs ended, and that say it while that one does not.
    commands: tuple[str, ...] = ()
    wrappers: Path | None = None
    lister = accounting = fallback = ""
    #: The daemon that starts ranks.
    daemon = "the scheduler"
    #: Its name in Spack, "" if no MPI is built with it, its header and its library.
    spack_package = header = library = ""
    #: Variables that it sets: their prefix; the name of the node; those that place and bind ranks,
    #: which are public.
    variable_prefix = node_variable = ""
    public_variables: tuple[str, ...] = ()
    #: Matches the nodes, its group, in a command that submits.
    nodes_in_command: re.Pattern[str] | None = None
    #: Its launcher's message of a failed rank, with the groups `host`, `ranks` and `how`; the
    #: beginnings of lines that are no message of a failed rank.
    failed_rank: re.Pattern[str] | None = None
    noise = ""

    # Jobs

    def job_options(self, comment: str = "") -> list[str]:
        """Return ReFrame's options that mark each job with `comment` and forbid to requeue it."""
        return []

    def node_options(self, nodes: Sequence[str], access: Iterable[str] = ()) -> list[str]:
        """Return a job's options that choose its `nodes`, besides the partition's `access`."""
        return []

    def count_options(self, nodes: int) -> list[str]:
        """Return a job's options that choose the number of its nodes, whatever its tasks need."""
        return []

    def patient_environment(
        self, base: Mapping[str, str], deadline: float, log: Path | None
    ) -> dict[str, str]:
        """Return `base` with a PATH whose commands wait for an answer until `deadline`, Unix time.

        They write their waits into `log` (`measure.scheduler`).
        """
        return dict(base)

    def is_no_answer(self, text: str) -> bool:
        """Whether `text` is what a command prints when the scheduler does not answer."""
        return False

    def is_submit_limit(self, text: str) -> bool:
        """Whether `text` says that a user or account may submit no more jobs now."""
        return False

    def cancel(self, comment: str, environment: Mapping[str, str]) -> list[str]:
        """Cancel the jobs with `comment`, and return their ids.

        NoAnswerError without an answer; UserError if it refuses for another reason.
        """
        return []

    def pending_job(
        self, comment: str, environment: Mapping[str, str], timeout_s: float
    ) -> PendingJob | None:
        """Return the first job with `comment` that waits; None without one or an answer."""
        return None

    def maintenances(self, environment: Mapping[str, str]) -> list[Maintenance]:
        """Return the maintenances, sorted by end; none without an answer."""
        return []

    # Nodes

    def nodes(
        self, partition: Mapping[str, Any], place: str, environment: Mapping[str, str]
    ) -> list[Node]:
        """Return the nodes that the options of ReFrame's `partition` choose, by name and number.

        UserError about the `place` if it does not list them, or the options choose none.
        """
        return []

    def node_names(self) -> list[str]:
        """Return the names of all nodes; [] without an answer."""
        return []

    def drain_command(self, host: str, reason: str) -> list[str]:
        """Return the words of the command by which an operator takes a node out of use."""
        return []

    # The job of a launch

    def own_job(self) -> str | None:
        """Return the number of the job that runs this process; None outside of a job."""
        return None

    def allocation_commands(self) -> tuple[str, str]:
        """Return shell commands that print the allocation of their job, and the other jobs on its
        nodes."""
        return "true", "true"

    def read_allocation(self, text: str) -> Allocation:
        """Parse what the commands printed; ValueError if it cannot be parsed."""
        return Allocation((), "")

    def displacement(self, reason: str, error: str) -> str:
        """Return why the scheduler ended a launch or never began it, a key of `DISPLACED_BY`; "" if
        the launch itself failed.

        `reason` is ReFrame's reason, `error` the end of the job's standard error.
        """
        return ""

    def nodes_down(self, error: str, nodes: Sequence[str]) -> set[str]:
        """Return which of `nodes`, the nodes of a launch in order, failed according to `error`."""
        return set()

    # Sites

    def cluster(self, run: Runner = command_output) -> Cluster:
        """Query the cluster; `run(*command)` returns a command's output, or None if it fails."""
        return Cluster()

    def check(self, site: Site, cluster: Cluster) -> list[Finding]:
        """Compare what `site` asks with `cluster`, or say why that was not checked."""
        return [Finding("not checked", "scheduler", "the site names none")]

    def time_fault(self, script: str, partition: Mapping[str, Any], cluster: Cluster) -> str:
        """Return that a job's `script` asks for more time than ReFrame's `partition` allows, or
        ""."""
        return ""

    def job_ends(self, site: Site) -> tuple[str, str] | None:
        """Return how ReFrame gets the result of jobs, for people, and, if it cannot, the one of
        its schedulers that can, else ""; None if it needs nothing for it."""
        return None

    def base(self, fabric: str) -> str:
        """Return the base, in ``site-configs/base``, of a new site with this `fabric`."""
        return fabric

    def site_part(
        self, cluster: Cluster, partitions: Sequence[Partition], has_library: bool
    ) -> SitePart:
        """Return what follows for a new site on `partitions`, where programs can be built with the
        scheduler's library or not."""
        return SitePart()

    def partition_size(self, text: str, partition: str) -> dict[str, int]:
        """Return ``nodes`` of a partition, and its smallest ``cores`` and ``sockets`` of a node, as
        far as the `text` of a file gives them."""
        return {}

    def pmix_series(self, pmis: Iterable[str]) -> str | None:
        """Return the PMIx series to build MPIs with where its launcher offers `pmis`; None:
        unknown."""
        return None

    def set_mpi_launchers(self, text: str, cluster: Cluster, has_library: bool) -> str:
        """Return the `text` of a ``packages.yaml`` with each MPI built for what starts it."""
        return text

    def spack_spec(self, version: str) -> str:
        """Return its spec in Spack."""
        return f"{self.spack_package}@{version}"
