"""A site as declared: ``site-configs/<site>/site.toml``, merged over the files of its bases.

docs/reference.md lists the keys.  The first ``[slurm_partition.NAME]`` has the partitions
of the site under their own names, ``ib-rc``; each other one repeats them as ``ib-rc-NAME``.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from roundtrip import tables
from roundtrip.model import StrictRecord, optional_field
from roundtrip.tables import KeyLines, KeyPath, TextList

#: Key of a repeated partition that holds the placeholders of its Slurm partition.
_PLACEHOLDERS_KEY = "values of its Slurm partition"
#: Keys of a Slurm partition that are the size of its nodes; any other key is a placeholder.
_SIZE_KEYS = ("nodes", "cores", "sockets")


def _repeat_partitions(
    partitions: Mapping[str, Any],
    slurm_partitions: Mapping[str, Mapping[str, Any]],
    key_lines: KeyLines,
) -> dict[str, Any]:
    """Return `partitions` once for each of `slurm_partitions`, if any; add to `key_lines`."""
    if not slurm_partitions:
        return dict(partitions)
    copies: dict[str, Any] = {}
    for number, (name, slurm_table) in enumerate(slurm_partitions.items()):
        suffix = "-" + re.sub(r"[^\w-]", "-", name) if number else ""
        size = {key: value for key, value in slurm_table.items() if key in _SIZE_KEYS}
        values = {key: str(value) for key, value in slurm_table.items() if key not in _SIZE_KEYS}
        for key, table in partitions.items():
            copy = key + suffix
            for path, source_line in list(key_lines.items()):
                if path[:2] == ("partition", key):
                    key_lines.setdefault(("partition", copy, *path[2:]), source_line)
            if not isinstance(table, Mapping):  # validation names the fault
                copies[copy] = table
                continue
            extras = {**table.get("extras", {}), **size}
            copies[copy] = {
                **table,
                "extras": extras,
                _PLACEHOLDERS_KEY: {"partition": name, **values},
            }
    return copies


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

    fabric: str | None = optional_field("what joins the ranks, on show")
    binding: str | None = optional_field("what a rank is bound to: `core` or `none`")
    transport: str | None = optional_field("the transport that UCX is to take")
    device: str | None = optional_field("the device that UCX is to take")
    interface: str | None = optional_field(
        "network interface of the nodes, for programs that use IP"
    )
    processors: int | Literal["here"] | None = optional_field(
        "processors that all nodes share, where nodes are none; `here`: all"
    )
    emulated: dict[str, Any] | None = optional_field("what is emulated, and how; on show")
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
        "a `slurm.conf` that says how many of these there are, if it exists"
    )
    memory_gb: int | None = optional_field("memory of a node, GB")
    assumed: dict[str, Any] | None = optional_field(
        "what a simulation assumes, because no source has it"
    )


#: The keys in the extras of a ReFrame environment, which modules `render` and
#: `programming_environments` fill in.
DESCRIPTION_BY_ENVIRONMENT_EXTRA = {
    "toolchain": "its title, on show",
    "mpi": "MPI family: `openmpi`, `mpich`, `mvapich`, `mvapich2`, `smpi`",
    "mpi_version": "version of the MPI, as far as it is known before it runs",
    "boost_version": "version of Boost",
    "transport": "transport that its variables choose, on show",
    "prefix": "where the toolchain is; its `toolchain.json` lists its parts",
    "build": "name of the folder in build/ that environments alike share",
    "programs": "folder of our programs, where Spack built them: nothing is built then",
    "launcher": "ReFrame's launcher that starts this MPI; the partition's otherwise",
    "launcher_options": "its options",
    "launcher_options_oversubscribed": "its options for more ranks than processors",
    "npb_upstream": "folder of NPB 3.4's programs, `<bench>.<class>.x`",
    "osu_prefix": "prefix of OSU Micro-Benchmarks",
    "netpipe_reference": "program of NetPIPE 3.7.2",
    "lacks": "what would make a missing feature available, by feature",
    "spec": "hash of the concrete Spack spec that it is",
    "specs": "version and hash of what Spack built for it: our programs, the MPI, Boost",
    "prefixes": "folders that must be there, or it is not installed",
    "suites": "prefixes of what others wrote for this MPI, by Spack package",
}


#: Fabrics with remote direct memory access.
RDMA_FABRICS = ("infiniband", "roce")
#: The file in a site's folder.
SITE_FILE = "site.toml"
_PLACEHOLDER_PATTERN = re.compile(r"\{(\w+)\}")


class LaunchTable(StrictRecord):
    """How an MPI family starts its ranks."""

    launcher: str | None = optional_field(
        "ReFrame's launcher, the partition's by default; `smpirun` for SimGrid"
    )
    pmi: str | None = optional_field("value of srun's `--mpi`")
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
    over: str = Field(description="the transport's name, on show")
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
        description="who makes the toolchains: `roundtrip toolchains`, Spack, or nobody"
    )
    bind: TextList = Field(
        (), description="options of srun that bind ranks, after those of `[launch]`"
    )
    pmix: str | None = optional_field(
        "series of PMIx that the MPIs are built with, that of the cluster's Slurm: "
        "`4` where `srun --mpi=list` has `pmix_v4`"
    )
    label: TextList = Field(
        (),
        description="what is in the names of Spack's toolchains besides the series of MPI and "
        "Boost: `patch`, `compiler`, a variant (`netmod`) or a package below the MPI (`ucx`). "
        '`["patch", "netmod", "ucx"]` gives `mpich43p2-ofi-boost186`',
    )
    detect: Annotated[tuple[Literal["pvm"], ...], Field(strict=False)] = Field(
        (), description="features that every partition has if the machine offers them"
    )
    launch: dict[str, LaunchTable] = _optional_table("tables `[launch.FAMILY]`, by MPI family")
    variables: dict[str, str] = _optional_table("what all toolchains of `toolchains.toml` need set")
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
    "base": "file of `base/`, without `.toml`; tables are merged key by key, other values replace",
    "values": "names of your own; `{name}` in any text stands for the value, as do `{site}`, "
    "`{checkout}`, and in a partition its `{name}` and its extras",
    "every_partition": "what all partitions have unless they say otherwise",
    "slurm_partition": "tables `[slurm_partition.NAME]`: a Slurm partition to measure on, with its "
    "`nodes`, `cores`, `sockets`; another key is a value, as in `[values]`. Each has all "
    "partitions: the first under their own names, another as `ib-rc-NAME`",
}


def read_site_data(file: Path, checkout: Path) -> SiteData:
    """The site in `file`; UserError with file and line of the first fault."""
    data, key_lines = _read_with_bases(file, checkout / "site-configs" / "base", ())
    legal = sorted({*SiteData.model_fields, *DESCRIPTION_BY_MERGED_KEY})
    for key in data:
        if key not in legal:
            message = f"unknown key '{key}'; legal are {', '.join(legal)}"
            raise tables.error_at_key(message, (key,), key_lines, file)
    values, defaults, slurm_partitions = (
        data.pop(key, {}) for key in ("values", "every_partition", "slurm_partition")
    )
    nested = slurm_partitions.values() if isinstance(slurm_partitions, dict) else ()
    if not all(isinstance(item, dict) for item in (values, defaults, slurm_partitions, *nested)):
        message = "`values`, `every_partition` and each `slurm_partition` are tables"
        raise tables.error_at_key(message, ("values",), key_lines, file)
    placeholders = {
        **{key: str(value) for key, value in values.items()},
        "site": file.parent.name,
        "checkout": shlex.quote(str(checkout)),
    }
    if slurm_partitions:
        placeholders = {"partition": next(iter(slurm_partitions)), **placeholders}
    partitions: Any = data.pop("partition", {})
    if isinstance(partitions, dict):
        partitions = _repeat_partitions(partitions, slurm_partitions, key_lines)
        _inherit_key_lines(key_lines, partitions)
        for key, table in partitions.items():
            if isinstance(table, dict):
                local_placeholders = {**placeholders, **table.pop(_PLACEHOLDERS_KEY, {})}
                partitions[key] = _fill_partition_placeholders(
                    key, tables.merge_tables(defaults, table), local_placeholders, key_lines, file
                )
    content = _fill_placeholders(data, placeholders, (), key_lines, file)
    site = tables.validate_table({**content, "partition": partitions}, SiteData, key_lines, file)
    _require_declared_conditions(site, key_lines, file)
    return site


def _fill_partition_placeholders(
    key: str, table: dict[str, Any], placeholders: dict[str, str], key_lines: KeyLines, file: Path
) -> dict[str, Any]:
    """Return the `table` of partition `key` filled in; its own extras are placeholders, too."""
    path: KeyPath = ("partition", key)
    extras = _fill_placeholders(
        table.get("extras", {}), placeholders, (*path, "extras"), key_lines, file
    )
    pairs = extras.items() if isinstance(extras, dict) else ()
    extra_texts = {name: value for name, value in pairs if isinstance(value, str)}
    name = str(table.get("name", key))
    account = os.environ.get("ROUNDTRIP_ACCOUNT", "")
    placeholders = {**placeholders, **extra_texts, "name": name, "account": account}
    other_fields = {field: value for field, value in table.items() if field != "extras"}
    return {
        "name": name,
        **_fill_placeholders(other_fields, placeholders, path, key_lines, file),
        "extras": extras,
    }


def _read_with_bases(
    file: Path, folder: Path, chain: tuple[str, ...]
) -> tuple[dict[str, Any], KeyLines]:
    data, key_lines = tables.read_toml(file)
    name = data.pop("base", None)
    if name is None:
        return data, key_lines
    bases = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in bases or name in chain:
        message = f"base: there is no '{name}'; there are: {', '.join(bases)}"
        raise tables.error_at_key(message, ("base",), key_lines, file)
    base_data, base_lines = _read_with_bases(folder / f"{name}.toml", folder, (*chain, name))
    return tables.merge_tables(base_data, data), {**base_lines, **key_lines}


def _inherit_key_lines(key_lines: KeyLines, partitions: Iterable[str]) -> None:
    """Add the lines of the keys that each partition inherits from `every_partition`."""
    default_lines = [item for item in key_lines.items() if item[0][0] == "every_partition"]
    for key in partitions:
        for path, source_line in default_lines:
            if path[1:]:
                key_lines.setdefault(("partition", key, *path[1:]), source_line)


def _fill_placeholders(
    value: Any, placeholders: dict[str, str], path: KeyPath, key_lines: KeyLines, file: Path
) -> Any:
    """Return `value` with its placeholders filled in, except in texts of keys `across`."""
    if isinstance(value, dict):
        return {
            key: item
            if key == "across"
            else _fill_placeholders(item, placeholders, (*path, key), key_lines, file)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_fill_placeholders(item, placeholders, path, key_lines, file) for item in value]
    if not isinstance(value, str):
        return value
    for name in _PLACEHOLDER_PATTERN.findall(value):
        if name not in placeholders:
            message = f"unknown placeholder {{{name}}}; legal are {', '.join(sorted(placeholders))}"
            raise tables.error_at_key(message, path, key_lines, file)
    return _PLACEHOLDER_PATTERN.sub(lambda match: placeholders[match[1]], value)


def _require_declared_conditions(site: SiteData, key_lines: KeyLines, file: Path) -> None:
    """UserError if a partition or transport names a condition that `site` does not declare."""
    references: list[tuple[str, KeyPath]] = []
    for key, partition in site.partition.items():
        path: KeyPath = ("partition", key)
        references += [(name, (*path, "scheduler_if")) for name in partition.scheduler_if]
        references += [(partition.only_if, (*path, "only_if"))] if partition.only_if else []
        references += [(partition.unless, (*path, "unless"))] if partition.unless else []
    for key, transport in site.transport.items():
        references += [(transport.unless, ("transport", key))] if transport.unless else []
    for name, path in references:
        if name not in site.condition:
            legal = ", ".join(site.condition) or "none"
            message = f"unknown condition '{name}'; there are: {legal}"
            raise tables.error_at_key(message, path, key_lines, file)
