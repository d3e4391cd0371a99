"""The ReFrame configuration of a site, rendered from its data file.

The ``reframe.py`` of a site has three lines and calls `configuration` while ReFrame loads it.

NPB 3.4 (a folder of ``<bench>.<class>.x``) and OSU Micro-Benchmarks (a prefix) are available for
each MPI of ``roundtrip toolchains`` if they are installed in ``$ROUNDTRIP_NPB`` and
``$ROUNDTRIP_OSU``; the defaults are ``npb`` and ``osu`` in the folder of the toolchains.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.sites import (
    data,
    launching,
    machine,
    programming_environments,
    schedulers,
    site_file,
)
from roundtrip.sites.data import LaunchTable, PartitionTable, SiteData
from roundtrip.sites.launching import SIMULATED_FEATURE
from roundtrip.sites.toolchains.spec import Boost, Catalogue, Toolchain, read_catalogue


def toolchain_environment(
    system: str,
    name: str,
    toolchain: Toolchain,
    variables: Mapping[str, str],
    extras: Mapping[str, object],
    last_boost: Boost,
    *,
    netpipe: bool = False,
) -> dict[str, Any]:
    """Return ReFrame's environment `name` of `system` with `toolchain`, built or not.

    The toolchain with the `newest_boost` offers this MPI's NPB, OSU and NetPIPE, which do not use
    Boost.  `netpipe` offers Debian's NetPIPE if it is installed.  A launcher in `extras` is one of
    the MPI's own programs unless it is that of a scheduler.
    """
    mpi = toolchain.mpi
    store = paths.toolchains()
    prefix, tools = f"{store}/{toolchain.name}", f"{store}/{mpi.name}/bin"
    npb = f"{os.environ.get('ROUNDTRIP_NPB') or store / 'npb'}/{mpi.name}"
    osu = f"{os.environ.get('ROUNDTRIP_OSU') or store / 'osu'}/{mpi.name}"
    is_last = toolchain.boost == last_boost
    reason = f"it knows no Boost, {mpi.name}-{last_boost.name} is enough"
    compilers = f"CC={tools}/mpicc CXX={tools}/mpicxx"
    configure = " ".join([*mpi.family_table.configure, "./configure"])
    make_osu = f"build it in its source: {configure} {compilers} --prefix={osu} && make -k install"
    folder_by_feature = {"npb-upstream": npb, "osu": osu}
    reference = mpi.netpipe if netpipe else None
    features = [key for key, folder in folder_by_feature.items() if Path(folder).is_dir()]
    if reference and shutil.which(reference):
        features.insert(0, "netpipe-reference")
    simulated_features = [SIMULATED_FEATURE] if mpi.family_table.simulator else []
    launcher = extras.get("launcher")
    own_launcher = launcher is not None and not schedulers.options_of_launcher(str(launcher))
    return {
        "name": name,
        "cc": f"{tools}/mpicc",
        "cxx": f"{tools}/mpicxx",
        "ftn": "",
        "env_vars": [
            ["Boost_ROOT", prefix],
            *([["PATH", f"{tools}:$PATH"]] if own_launcher else []),
            *map(list, variables.items()),
        ],
        "features": ["mpi", "boost", *simulated_features, *(features if is_last else [])],
        "extras": {
            "toolchain": f"{mpi.title}, Boost {toolchain.boost.series}",
            "mpi": mpi.family,
            "mpi_version": mpi.series,
            "boost_version": toolchain.boost.series,
            "prefix": prefix,
            "build": toolchain.name,
            "npb_upstream": npb,
            "osu_prefix": osu,
            **({"netpipe_reference": reference} if netpipe else {}),
            "lacks": {
                "npb-upstream": f"build NPB 3.4 into {npb}" if is_last else reason,
                "osu": make_osu if is_last else reason,
            },
            **extras,
        },
        "target_systems": [system],
    }


def debian_pvm_features() -> list[str]:
    """Return the feature ``pvm`` if Debian's PVM 3 and its header are installed here."""
    return ["pvm"] if shutil.which("pvmd") and Path("/usr/include/pvm3.h").exists() else []


def built_environment_names(environments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of `environments` whose toolchain is built; warn if none is built."""
    names = [
        item["name"]
        for item in environments
        if Path(item["extras"]["prefix"], "toolchain.json").exists()
    ]
    if not names:
        (system,) = environments[0]["target_systems"]
        programming_environments.warn_empty_site(
            system, f"no toolchain in {paths.toolchains()}: `make setup`"
        )
    return names


def configuration(file: str) -> dict[str, Any]:
    """Return ReFrame's ``site_configuration``; `file` is the site's ``reframe.py``.  ReFrame's
    ConfigError, with file and line, if ``site.toml`` is invalid."""
    try:
        return reframe_configuration(Path(file).resolve().parent)
    except UserError as error:
        from reframe.core.exceptions import ConfigError  # already loaded inside ReFrame only

        raise ConfigError(str(error)) from None


def reframe_configuration(folder: Path) -> dict[str, Any]:
    """Return ReFrame's configuration of the site in `folder`; UserError with file and line."""
    checkout = folder.parents[1]
    site = site_file.read_site_data(
        folder / data.SITE_FILE, checkout, lambda text: print(f"warning: {text}", file=sys.stderr)
    )
    environments = _declared_environments(folder.name, site, checkout)
    partitions = [
        _reframe_partition(partition, site, environments)
        for partition in site.partition.values()
        if (not partition.only_if or site.condition[partition.only_if])
        and (not partition.unless or not site.condition[partition.unless])
    ]
    system = {
        "name": folder.name,
        "descr": site.description,
        "hostnames": list(site.hostnames),
        "modules_system": "nomod",
        "partitions": partitions,
    }
    return {"systems": [system], "environments": environments}


def _declared_environments(name: str, site: SiteData, checkout: Path) -> list[dict[str, Any]]:
    """Return ReFrame's environments of the site `name`, installed or not."""
    if site.software == "none":
        tables = site.declared.items()
        return [{"name": key, **table, "target_systems": [name]} for key, table in tables]
    if site.software == "spack":
        starts = {mpi: _start_settings(launch, site) for mpi, launch in site.launch.items()}
        return programming_environments.spack_environments(name, starts, site.label)
    versions = read_catalogue(checkout)
    if site.transport:
        return [_transport_environment(name, key, site, versions) for key in site.transport]
    # The simulators if the site launches ranks by one, else all other toolchains.
    families = {mpi.family for mpi in versions.mpis.values() if mpi.family_table.simulator}
    is_simulated = not families.isdisjoint(site.launch)
    return [
        toolchain_environment(
            name,
            item.name,
            item,
            *_toolchain_start_settings(site, item),
            versions.newest_boost,
            netpipe=True,
        )
        for item in versions.available_toolchains
        if item.mpi.family_table.simulator == is_simulated
    ]


def _transport_environment(
    system: str, key: str, site: SiteData, versions: Catalogue
) -> dict[str, Any]:
    transport = site.transport[key]
    if transport.mpi not in versions.mpis:
        legal = ", ".join(versions.mpis)
        message = f"unknown MPI '{transport.mpi}' in transport '{key}'; there are: {legal}"
        raise UserError(message, f"site-configs/{system}/{data.SITE_FILE}")
    toolchain = Toolchain(versions.mpis[transport.mpi], versions.newest_boost)
    variables, extras = _toolchain_start_settings(site, toolchain)
    variables |= transport.variables
    title = f"{toolchain.mpi.title} over {transport.over}"
    extras = {"toolchain": title, "transport": transport.over, **extras}
    return toolchain_environment(system, key, toolchain, variables, extras, toolchain.boost)


def _reframe_partition(
    partition: PartitionTable, site: SiteData, environments: list[dict[str, Any]]
) -> dict[str, Any]:
    alternatives = [name for key, name in partition.scheduler_if.items() if site.condition[key]]
    extras = _extras_with_sizes(partition)
    account = partition.account if os.environ.get("ROUNDTRIP_ACCOUNT") else None
    # A campaign raises the number of jobs where launches share no node.
    limit = os.environ.get("ROUNDTRIP_SIDE_BY_SIDE", "")
    is_raised = partition.side_by_side and limit.isdecimal()
    if site.software == "spack":
        features = programming_environments.spack_pvm_features()
    else:
        features = debian_pvm_features() if "pvm" in site.detect else []
    fields = {
        "name": partition.name,
        "descr": partition.description,
        "scheduler": [*alternatives, partition.scheduler][0],
        "launcher": partition.launcher,
        "access": [*partition.access, *([account] if account else [])],
        "sched_options": partition.options,
        "environs": _partition_environs(partition, site, environments),
        "env_vars": [list(pair) for pair in partition.variables.items()],
        "prepare_cmds": list(partition.prepare),
        "features": [
            *partition.features,
            *launching.size_features(
                extras.get("nodes"), extras.get("cores"), extras.get("sockets")
            ),
            *features,
        ],
        "processor": partition.processor,
        "extras": extras,
        "max_jobs": int(limit) if is_raised else partition.max_jobs,
    }
    return {key: value for key, value in fields.items() if value or key == "environs"}


def _extras_with_sizes(partition: PartitionTable) -> dict[str, Any]:
    """Return the extras of `partition`, with sizes of this machine or from the scheduler's file."""
    extras = partition.extras.model_dump(exclude_none=True)
    if partition.side_by_side:
        extras["side_by_side"] = True
    if "across" in extras:
        extras["across"] = list(extras["across"])
    if extras.get("processors") == "here":
        extras["processors"] = os.cpu_count()
    for key in ("cores", "sockets"):
        if extras.get(key) == "here":
            extras[key] = getattr(machine.read_host(), key)
    file = Path(extras.pop("size_from", ""))
    if file.is_file():
        scheduler = schedulers.scheduler_of_reframe_name(partition.scheduler)
        text = file.read_text(errors="replace")
        extras |= scheduler.parse_partition_size(text, partition.name)
    return extras


def _partition_environs(
    partition: PartitionTable, site: SiteData, environments: list[dict[str, Any]]
) -> list[str]:
    if partition.environs is not None:
        return list(partition.environs)
    if site.software == "spack":
        return programming_environments.installed_environment_names(environments, partition.without)
    conditions = {name: transport.unless for name, transport in site.transport.items()}
    exclusions = {name for name, key in conditions.items() if key and site.condition[key]}
    return [name for name in built_environment_names(environments) if name not in exclusions]


def _toolchain_start_settings(
    site: SiteData, toolchain: Toolchain
) -> tuple[dict[str, str], dict[str, object]]:
    """Return variables and extras by which ranks start; UserError if the site does not say how."""
    mpi = toolchain.mpi
    if mpi.family not in site.launch:
        legal = ", ".join(site.launch)
        raise UserError(f"the site does not say how {mpi.title} starts ranks; it knows: {legal}")
    variables, extras = _start_settings(site.launch[mpi.family], site)
    return {**site.variables, **variables}, extras


def _start_settings(
    launch: LaunchTable, site: SiteData
) -> tuple[dict[str, str], dict[str, object]]:
    """Return the environment variables and the extras by which ranks of an MPI start."""
    root_variables = launch.variables_as_root if os.geteuid() == 0 else {}
    options = list(launch.options)
    # The launcher of the partitions starts the MPIs that name none.
    launchers = (
        [launch.launcher] if launch.launcher else [p.launcher for p in site.partition.values()]
    )
    if scheduler_options := next(
        filter(None, map(schedulers.options_of_launcher, launchers)), None
    ):
        # `pmi` and `bind` are for the launcher of a scheduler only.
        pmi = [f"{scheduler_options.pmi_prefix}{launch.pmi}"] if launch.pmi else []
        options = [*pmi, *options, *site.bind]
    extras = launching.launcher_extras(launch.launcher, options)
    return {**launch.variables, **root_variables}, extras
