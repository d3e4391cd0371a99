"""The environment of a night, as rows of `PROVENANCE`: everything that may explain a change."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError, printable
from roundtrip.measure import bundle_tables, manifest
from roundtrip.measure.bundle_rows import SIMULATION_TITLES, EmulationRow, NodeRow
from roundtrip.measure.manifest import Manifest
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN
from roundtrip.measure.run_record import NODE_FACT_TITLES
from roundtrip.sites import lock as locks
from roundtrip.sites.programming_environments import toolchains_in_lock

#: Subject, name and value of a fact; the subject is an environment, a node, or "" for the site.
Fact = tuple[str, str, str]
_MAX_VALUE_LENGTH = 300
_LOCK_FILE = "env/spack.lock"
#: The model of the processor.
PROCESSOR_FACT = "processor"
#: Paths of facts in host.json, and their names for people.
_TITLE_BY_HOST_PATH = {
    "cpu.model": PROCESSOR_FACT,
    "cpu.microcode": "microcode",
    "cpu.logical": "processors online",
    "cpu.usable": "processors usable",
    "cpu.governors": "frequency governor",
    "cpu.turbo": "turbo",
    "cpu.smt": "hardware threads",
    "cpu.quota": "processor quota",
    "memory.numa_nodes": "NUMA nodes",
    "memory.numa_balancing": "NUMA balancing",
    "memory.transparent_huge_pages": "transparent huge pages",
    "system.kernel": "kernel",
    "system.distribution": "distribution",
    "system.clocksource": "clock source",
    "system.firmware": "firmware",
    "system.hypervisor": "hypervisor",
    "system.container": "container",
    "microarchitecture": "microarchitecture",
}
#: What the kernel of each node reported to launches.
_NODES_FILE = manifest.table_file("nodes")
#: Paths in toolchains.json, under `installed`, and names of the facts.
_TITLE_BY_INSTALLED_PATH = {
    "mpi.version": "MPI version",
    "mpi.origin": "MPI package",
    "boost.version": "Boost version",
    "boost.origin": "Boost package",
    "compiler.version": "compiler of the toolchain",
    "compiler.flags": "flags of the toolchain",
}
#: The options of an environment's launcher, as words of a shell.
LAUNCHER_OPTIONS_FACT = "launcher options"
#: Keys in toolchains.json, under `reframe.extras`, of how ranks are started.
_TITLE_BY_LAUNCHER_KEY = {
    "launcher": "launcher",
    "launcher_options": LAUNCHER_OPTIONS_FACT,
    "launcher_options_oversubscribed": f"{LAUNCHER_OPTIONS_FACT} with more ranks than processors",
}
#: Keys of a partition in site-config.json.
_TITLE_BY_PARTITION_KEY = {
    "access": "access",
    "sched_options": "options",
    "prepare_cmds": "preparation",
}
_TITLE_BY_CASES_COLUMN = {
    "mpi_library": "MPI library",
    "mpi_build": "build of the MPI library",
    "boost": "Boost",
    "compiler": "compiler",
    "compiler_flags": "compiler flags",
}
#: Columns of cases.parquet that contain facts.
CASES_FACT_COLUMNS = (*_TITLE_BY_CASES_COLUMN, "emulated", "simulated", *SIMULATION_TITLES)
_EMULATION_FILE = manifest.table_file("emulation")
#: Packages of a Spack environment that move data, or bind ranks.
_TRANSPORT_PACKAGES = (
    "ucx",
    "libfabric",
    "rdma-core",
    "psm2",
    "pmix",
    "openpmix",
    "prrte",
    "hwloc",
    "gcc",
)


def bundle_facts(
    bundle: Path, bundle_manifest: Manifest, launches: pl.DataFrame, placement: pl.DataFrame
) -> list[Fact]:
    """All facts that a verified bundle records, sorted.

    `launches` are the passed ones, with columns launch, environ and `CASES_FACT_COLUMNS`;
    `placement` has the columns launch, rank and cpus.
    """
    facts = [*_campaign_facts(bundle_manifest), *_host_facts(bundle), *_site_facts(bundle)]
    facts += [*_toolchain_facts(bundle), *_spack_facts(bundle, bundle_manifest)]
    facts += [*_launch_facts(launches), *_binding_facts(launches, placement)]
    facts += [*_node_facts(bundle, bundle_manifest, launches)]
    facts += [*_emulation_facts(bundle, bundle_manifest, launches), *_simulation_facts(launches)]
    return sorted(
        {(subject, name, _shorten_value(value)) for subject, name, value in facts if value}
    )


def _campaign_facts(bundle_manifest: Manifest) -> Iterator[Fact]:
    data = bundle_manifest.data
    yield "", "checkout", (data["git"]["commit"] or "")[:12] + " dirty" * bool(data["git"]["dirty"])
    for name, version in data["tools"].items():
        yield "", f"tool {name}", version
    for file in ("env/site-config.json", "env/site-config.py"):
        if file in data["files"]:
            yield "", "site configuration", data["files"][file]["sha256"][:12]


def _read_env_object(bundle: Path, name: str) -> dict[str, Any]:
    """The JSON object in a file of the folder env/; empty if it cannot be read."""
    return files.read_object_in_tree(bundle / "env" / name, bundle)


def _host_facts(bundle: Path) -> Iterator[Fact]:
    host = _read_env_object(bundle, "host.json")
    yield from (
        ("", name, _value_text(find_at_path(host, path)))
        for path, name in _TITLE_BY_HOST_PATH.items()
    )
    for kind, path in (("package", "packages"), ("mitigation", "cpu.mitigations")):
        entries = find_at_path(host, path)
        for name, value in entries.items() if isinstance(entries, dict) else ():
            yield "", f"{kind} {name}", _value_text(value)


def _toolchain_facts(bundle: Path) -> Iterator[Fact]:
    for environ, entry in _read_env_object(bundle, "toolchains.json").items():
        for path, name in _TITLE_BY_INSTALLED_PATH.items():
            yield environ, name, _value_text(find_at_path(entry, f"installed.{path}"))
        for path, name in _TITLE_BY_LAUNCHER_KEY.items():
            value = find_at_path(entry, f"reframe.extras.{path}")
            words = [*map(str, value)] if isinstance(value, list) else [_value_text(value)]
            yield environ, name, shlex.join(words) if any(words) else ""
        for name, text in _variable_facts(find_at_path(entry, "reframe.env_vars")):
            yield environ, name, text


def _site_facts(bundle: Path) -> Iterator[Fact]:
    """Yield settings of the site's partitions and the user's tuning; private values are digests."""
    partitions = _read_env_object(bundle, "site-config.json").get("partitions")
    for partition in partitions if isinstance(partitions, list) else ():
        name = _value_text(find_at_path(partition, "name"))
        for key, title in _TITLE_BY_PARTITION_KEY.items():
            yield "", f"{title} of partition {name}", _value_text(find_at_path(partition, key))
        for variable, value in _variable_facts(find_at_path(partition, "env_vars")):
            yield "", f"{variable} of partition {name}", value
    for variable, value in _variable_facts(
        _read_env_object(bundle, "tuning.json").get("variables")
    ):
        yield "", f"{variable} of the user", value


def _variable_facts(pairs: Any) -> Iterator[tuple[str, str]]:
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            yield f"variable {pair[0]}", _value_text(pair[1])


def _spack_facts(bundle: Path, bundle_manifest: Manifest) -> Iterator[Fact]:
    if _LOCK_FILE not in bundle_manifest.data["files"]:
        return
    yield "", "spack.lock", bundle_manifest.data["files"][_LOCK_FILE]["sha256"][:12]
    try:
        lock = locks.read_lock(bundle / _LOCK_FILE)
        lock_toolchains = toolchains_in_lock(lock)
    except UserError:
        return  # written by another Spack: only its digest is recorded
    for toolchain in lock_toolchains:
        yield toolchain.name, "Spack hash", toolchain.root.hash[:12]
        for spec in lock.closure(toolchain.root.hash):
            if spec.name in _TRANSPORT_PACKAGES or spec in (toolchain.mpi, toolchain.boost):
                yield toolchain.name, spec.name, f"{spec.version} ({spec.hash[:7]})"


def _launch_facts(launches: pl.DataFrame) -> Iterator[Fact]:
    records: dict[tuple[str, str], set[str]] = {}
    for environ, *values in launches.select("environ", *_TITLE_BY_CASES_COLUMN).iter_rows():
        for name, value in zip(_TITLE_BY_CASES_COLUMN.values(), values, strict=True):
            records.setdefault((environ, name), set()).add(value or "")
    for (environ, name), texts in records.items():
        yield environ, name, "; ".join(sorted(filter(None, texts)))


def _binding_facts(launches: pl.DataFrame, placement: pl.DataFrame) -> Iterator[Fact]:
    """Yield, by environment, the processors on which each rank of its launches could run."""
    environs = dict(launches.select("launch", "environ").iter_rows())
    ranks: dict[str, list[tuple[int, str]]] = {}
    for launch, rank, cpus in placement.iter_rows():
        if launch in environs:
            ranks.setdefault(launch, []).append((rank, ",".join(map(str, cpus or ["any"]))))
    bindings: dict[str, set[str]] = {}
    for launch, sets in ranks.items():
        binding = "; ".join(f"{rank}: {cpus}" for rank, cpus in sorted(sets))
        bindings.setdefault(environs[launch], set()).add(binding)
    for environ, environ_bindings in bindings.items():
        yield environ, "binding", " or ".join(sorted(environ_bindings))


def _node_facts(bundle: Path, bundle_manifest: Manifest, launches: pl.DataFrame) -> Iterator[Fact]:
    """Yield, by node, what its kernel reported to passed launches: all values if several."""
    if _NODES_FILE not in bundle_manifest.data["files"]:
        return
    passed_launches = set(launches["launch"])
    records: dict[tuple[str, str], set[str]] = {}
    for launch, host, *cells in bundle_tables.read_table(
        bundle / _NODES_FILE, NodeRow, ["launch", "host", *NODE_FACT_TITLES]
    ).iter_rows():
        if launch in passed_launches and re.fullmatch(PSEUDONYM_PATTERN, host or ""):
            for name, cell in zip(NODE_FACT_TITLES.values(), cells, strict=True):
                value = "; ".join(cell) if isinstance(cell, list) else cell
                records.setdefault((host, name), set()).add(value or "")
    for (host, name), values in records.items():
        yield host, name, " or ".join(sorted(values - {""}))


def _emulation_facts(
    bundle: Path, bundle_manifest: Manifest, launches: pl.DataFrame
) -> Iterator[Fact]:
    """Yield, by environment and emulated property (nodes, wan_rtt_ms), all its values."""
    if _EMULATION_FILE not in bundle_manifest.data["files"] or not launches["emulated"].any():
        return
    table = bundle_tables.read_table(
        bundle / _EMULATION_FILE, EmulationRow, ["launch", "name", "value"]
    )
    emulations = launches.select("launch", "environ").join(table, on="launch")
    rows = emulations.select("environ", "name", "value").drop_nulls().unique().sort(pl.all())
    for (environ, name), group in rows.group_by("environ", "name", maintain_order=True):
        yield str(environ), f"emulated {name}", "; ".join(group["value"])


def _simulation_facts(launches: pl.DataFrame) -> Iterator[Fact]:
    """Yield, by environment, that it is simulated, and by what."""
    simulated_launches = launches.filter(pl.col("simulated").fill_null(False))
    for environ in simulated_launches["environ"].unique():
        rows = simulated_launches.filter(environ=environ)
        yield str(environ), "simulated", "yes"
        for name, title in SIMULATION_TITLES.items():
            if values := rows[name].drop_nulls().unique().sort().to_list():
                yield str(environ), title, "; ".join(map(_value_text, values))


def find_at_path(data: Any, path: str) -> Any:
    """The value at a dotted path in nested objects; None if there is none."""
    for key in path.split("."):
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None or isinstance(value, Mapping) else str(value)


def _shorten_value(value: str) -> str:
    """The value in one line; a long line is cut, and its digest is added to distinguish it."""
    line = printable(" ".join(value.split()))
    if len(line) <= _MAX_VALUE_LENGTH:
        return line
    return f"{line[:80]}... ({hashlib.sha256(line.encode()).hexdigest()[:12]})"
