"""What ``site-configs/<site>/site.toml`` may say: its keys, which docs/reference.md lists."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from roundtrip.model import StrictRecord, optional_field
from roundtrip.tables import TextList


def _optional_table(description: str) -> Any:
    """The field for a table of site.toml that may be missing, and is empty then."""
    return Field(default_factory=dict, description=description)


class SimulatedTable(StrictRecord):
    """The simulated platform of a partition: SimGrid file, and speed of a host [flop/s]."""

    platform: str
    host_flops: float = Field(gt=0, le=1e15)
    added_rtt_ms: Annotated[float, Field(ge=0, strict=False)] | None = None


class PartitionExtras(StrictRecord):
    """What checks read of a partition besides its features: ReFrame's `extras`."""

    fabric: str | None = optional_field("what joins the ranks, for display")
    binding: str | None = optional_field("what a rank is bound to: `core` or `none`")
    transport: str | None = optional_field("the transport that UCX is to take")
    device: str | None = optional_field("the device that UCX is to take")
    interface: str | None = optional_field(
        "network interface of the nodes, for programs that use IP"
    )
    processors: int | Literal["here"] | None = optional_field(
        "processors that all nodes share, where nodes are none; `here`: all"
    )
    emulated: dict[str, Any] | None = optional_field("what is emulated, and how; for display")
    simulated: SimulatedTable | None = optional_field(
        "what SimGrid simulates: `platform` (a file of the site's `platforms/`), "
        "`host_flops` (speed of a host) and, where round trips can be longer, `added_rtt_ms`"
    )
    lease: str | None = optional_field(
        "command that holds the emulated link while a launch crosses it"
    )
    across: TextList | None = optional_field(
        "scheduler options for nodes on both sides of the link; {nodes}: on each side"
    )
    nodes: int | None = optional_field("nodes of the partition; the features `nodes_2`, ... follow")
    cores: int | Literal["here"] | None = optional_field(
        "cores of a node; the features `cores_2`, ... follow; `here`: this machine's"
    )
    sockets: int | Literal["here"] | None = optional_field(
        "sockets of a node; `sockets_2`, ... follow; `here`: this machine's"
    )
    size_from: str | None = optional_field(
        "a file of the scheduler (`slurm.conf`) that says how many of these there are, if it exists"
    )
    memory_gb: int | None = optional_field("memory of a node, GB")
    assumed: dict[str, Any] | None = optional_field(
        "what a simulation assumes, because no source has it"
    )


#: The keys in the extras of a ReFrame environment, which modules `render` and
#: `programming_environments` fill in.
DESCRIPTION_BY_ENVIRONMENT_EXTRA = {
    "toolchain": "its title, for display",
    "mpi": "MPI family: `openmpi`, `mpich`, `mvapich`, `mvapich2`, `smpi`",
    "mpi_version": "version of the MPI, as far as it is known before it runs",
    "boost_version": "version of Boost",
    "transport": "transport that its variables choose, for display",
    "prefix": "where the toolchain is; its `toolchain.json` lists its parts",
    "build": "name of the folder in build/ that environments alike share",
    "programs": "folder of our programs, where Spack built them: nothing is built then",
    "launcher": "ReFrame's launcher that starts this MPI; the partition's otherwise",
    "launcher_options": "its options",
    "launcher_options_oversubscribed": "its options for more ranks than processors",
    "npb_upstream": "folder of NPB 3.4's programs, `<bench>.<class>.x`",
    "osu_prefix": "prefix of OSU Micro-Benchmarks",
    "netpipe_reference": "program of NetPIPE 3.7.2",
    "lacks": "how to make a missing feature available, by feature",
    "spec": "hash of the concrete Spack spec that it is",
    "specs": "version and hash of what Spack built for it: our programs, the MPI, Boost",
    "prefixes": "folders that must be there, or it is not installed",
    "suites": "prefixes of third-party programs for this MPI, by Spack package",
}


#: Fabrics with remote direct memory access.
RDMA_FABRICS = ("infiniband", "roce")
#: The file in a site's folder.
SITE_FILE = "site.toml"


class LaunchTable(StrictRecord):
    """How an MPI family starts its ranks."""

    launcher: str | None = optional_field(
        "ReFrame's launcher, the partition's by default; `smpirun` for SimGrid"
    )
    pmi: str | None = optional_field(
        "the PMI by which the scheduler's launcher starts ranks (`srun --mpi`)"
    )
    options: TextList = Field((), description="options of the launcher")
    variables: dict[str, str] = _optional_table("environment variables")
    variables_as_root: dict[str, str] = _optional_table("the same, set only for root")


class ConditionTable(StrictRecord):
    """A condition that holds if `file` exists and has the text `contains` in it."""

    file: str = Field(description="a file of the machine")
    contains: str = Field(description="the condition holds if the file has this text")

    def __bool__(self) -> bool:
        file = Path(self.file)
        return file.is_file() and self.contains in file.read_text(errors="replace")


class TransportTable(StrictRecord):
    """A ReFrame environment: a toolchain with variables that choose the transport."""

    mpi: str = Field(description="the MPI; its toolchain with the last Boost is taken")
    over: str = Field(description="the transport's name, for display")
    variables: dict[str, str] = _optional_table("variables that choose it")
    unless: str | None = optional_field("a condition under which it is left out")


class PartitionTable(StrictRecord):
    """A ReFrame partition."""

    name: str = Field(description="its name; that of its table by default")
    description: str = Field(description="ReFrame's `descr`")
    scheduler: str = Field(description="ReFrame's scheduler, as `slurm`, `squeue` or `local`")
    scheduler_if: dict[str, str] = _optional_table("another scheduler, by the condition that holds")
    launcher: str = Field(description="ReFrame's launcher, as `srun`")
    access: TextList = Field((), description="options that get a job its nodes")
    account: str | None = optional_field(
        "an option with `{account}`, added if `$ROUNDTRIP_ACCOUNT` is set"
    )
    options: dict[str, Any] = _optional_table("ReFrame's `sched_options`")
    without: TextList = Field((), description="MPI families that cannot run there")
    environs: TextList | None = optional_field("its environments; all by default")
    variables: dict[str, str] = _optional_table("environment variables")
    prepare: TextList = Field((), description="commands before each launch")
    features: TextList = Field((), description="what checks ask for; counts are derived (scales)")
    processor: dict[str, Any] | None = optional_field("ReFrame's `processor`")
    extras: PartitionExtras = Field(
        default_factory=PartitionExtras, description="what checks read, below"
    )
    max_jobs: int = Field(1, description="jobs at once")
    side_by_side: bool = Field(
        False,
        description="launches on different nodes do not disturb each other: pairs of nodes are "
        "measured together",
    )
    only_if: str | None = optional_field("a condition without which it is left out")
    unless: str | None = optional_field("a condition under which it is left out")


class SiteData(StrictRecord):
    """The content of site.toml, with its bases and placeholders filled in."""

    description: str = Field(description="ReFrame's `descr`")
    hostnames: TextList = Field(
        description="patterns of host names; none may fit any machine, as `RFM_SYSTEM` chooses"
    )
    software: Literal["toolchains", "spack", "none"] = Field(
        description="source of the toolchains: `roundtrip toolchains`, Spack, or none"
    )
    bind: TextList = Field(
        (),
        description="options by which the scheduler's launcher binds ranks, after those of "
        "`[launch]`",
    )
    pmix: str | None = optional_field(
        "series of PMIx that the MPIs are built with, that of the scheduler: "
        "`4` where `srun --mpi=list` has `pmix_v4`"
    )
    label: TextList = Field(
        (),
        description="parts of the names of Spack's toolchains besides the series of MPI and "
        "Boost: `patch`, `compiler`, a variant (`netmod`) or a package below the MPI (`ucx`). "
        '`["patch", "netmod", "ucx"]` gives `mpich43p2-ofi-boost186`',
    )
    detect: Annotated[tuple[Literal["pvm"], ...], Field(strict=False)] = Field(
        (), description="features that every partition has if the machine offers them"
    )
    launch: dict[str, LaunchTable] = _optional_table("tables `[launch.FAMILY]`, by MPI family")
    variables: dict[str, str] = _optional_table(
        "environment variables for all toolchains of `toolchains.toml`"
    )
    condition: dict[str, ConditionTable] = _optional_table("tables `[condition.NAME]`")
    transport: dict[str, TransportTable] = _optional_table(
        "a line for each transport, an environment of its own"
    )
    partition: dict[str, PartitionTable] = Field(description="tables `[partition.NAME]`")
    declared: dict[str, dict[str, Any]] = _optional_table(
        'environments in ReFrame\'s form, for `software = "none"`'
    )

    def uses_pmix(self, launchers: Collection[str]) -> bool:
        """Whether the partitions' launcher, or one of `launchers`, starts an MPI by PMIx."""
        return any(
            (launch.pmi or "").startswith("pmix")
            and (launch.launcher is None or launch.launcher in launchers)
            for launch in self.launch.values()
        )


#: Keys of the file that `read_site_data` replaces by what they mean.
DESCRIPTION_BY_MERGED_KEY = {
    "base": "files of `base/`, without `.toml`: the scheduler's, then the fabric's, as "
    '`["slurm", "infiniband"]`. Each is laid over those before it, and the site over all: tables '
    'are merged key by key, a list that begins with `"..."` extends that of the bases, other '
    "values replace",
    "values": "names of your own; `{name}` in any text stands for the value, as do `{site}`, "
    "`{checkout}`, and in a partition its `{name}` and its extras",
    "every_partition": "what all partitions have unless they say otherwise",
    "scheduler_partition": "tables `[scheduler_partition.NAME]`: a partition or queue of the "
    "scheduler to measure on, with its `nodes`, `cores`, `sockets`; another key is a value, as in "
    "`[values]`. Each has all partitions: the first under their own names, another as `ib-rc-NAME`",
}
