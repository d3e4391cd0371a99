"""The ReFrame configuration of a site, rendered from its data file.

The ``reframe.py`` of a site has three lines and calls `configuration` while ReFrame loads it.

NPB 3.4 (a folder of ``<bench>.<class>.x``) and OSU Micro-Benchmarks (a prefix) are available for
each MPI of ``roundtrip toolchains`` if they are installed in ``$ROUNDTRIP_NPB`` and
``$ROUNDTRIP_OSU``; the defaults are ``npb`` and ``osu`` in the folder of the toolchains.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.host import facts
from roundtrip.sites import data, launchers, scales, slurm, toolchains
from roundtrip.sites.data import Launch, Partition, SiteData
from roundtrip.sites.scales import SIMULATED
from roundtrip.toolchains.spec import Catalogue, Mpi, Toolchain, catalogue


def prebuilt_environment(
    system: str,
    name: str,
    toolchain: Toolchain,
    variables: Mapping[str, str],
    extras: Mapping[str, object],
    *,
    suites_toolchain: str | None = None,
    netpipe: bool = False,
) -> dict[str, Any]:
    """Return environment `name` of `system` with `toolchain`, built or not.

    `suites_toolchain` is the toolchain that offers this MPI's NPB, OSU and NetPIPE, which do not
    use Boost; None if it is `toolchain`.  `netpipe` offers Debian's NetPIPE if it is installed.  A
    launcher in `extras` is one of the MPI's own programs unless it is srun.
    """
    mpi = toolchain.mpi
    store = paths.toolchains()
    prefix, tools = f"{store}/{toolchain.name}", f"{store}/{mpi.name}/bin"
    npb = f"{os.environ.get('ROUNDTRIP_NPB') or store / 'npb'}/{mpi.name}"
    osu = f"{os.environ.get('ROUNDTRIP_OSU') or store / 'osu'}/{mpi.name}"
    suites_hint = f"it knows no Boost, {suites_toolchain} is enough" if suites_toolchain else None
    compilers = f"CC={tools}/mpicc CXX={tools}/mpicxx"
    configure = " ".join([*mpi.kind.configure, "./configure"])
    make_osu = f"build it in its source: {configure} {compilers} --prefix={osu} && make -k install"
    places = {"npb-upstream": npb, "osu": osu}
    reference = mpi.netpipe if netpipe else None
    features = [key for key, place in places.items() if Path(place).is_dir()]
    if reference and shutil.which(reference):
        features.insert(0, "netpipe-reference")
    kind = [SIMULATED] if mpi.kind.simulator else []
    own_launcher = extras.get("launcher") not in (None, "srun")
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
        "features": ["mpi", "boost", *kind, *([] if suites_hint else features)],
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
                "npb-upstream": suites_hint or f"build NPB 3.4 into {npb}",
                "osu": suites_hint or make_osu,
            },
            **extras,
        },
        "target_systems": [system],
    }


def debian_pvm() -> list[str]:
    """Return the feature ``pvm`` if Debian's PVM 3 and its header are installed here."""
    return ["pvm"] if shutil.which("pvmd") and Path("/usr/include/pvm3.h").exists() else []


def built_names(environments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of `environments` whose toolchain is built; warn if there is none."""
    names = [
        item["name"]
        for item in environments
        if Path(item["extras"]["prefix"], "toolchain.json").exists()
    ]
    if not names:
        (system,) = environments[0]["target_systems"]
        toolchains.warn_empty_site(system, f"no toolchain in {paths.toolchains()}: `make setup`")
    return names


def configuration(file: str) -> dict[str, Any]:
    """Return ReFrame's ``site_configuration``; `file` is the site's ``reframe.py``.

    ReFrame's ConfigError, one line with the place of the fault, if ``site.toml`` is invalid.
    """
    try:
        return render(Path(file).resolve().parent)
    except UserError as error:
        from reframe.core.exceptions import ConfigError  # already loaded inside ReFrame only

        raise ConfigError(str(error)) from None


def render(folder: Path) -> dict[str, Any]:
    """ReFrame's configuration of the site in `folder`; UserError with the place of a fault."""
    checkout = folder.parents[1]
    site = data.load(folder / data.FILE, checkout)
    environments = _environments(folder.name, site, checkout)
    partitions = [
        _partition(partition, site, environments)
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


def _environments(name: str, site: SiteData, checkout: Path) -> list[dict[str, Any]]:
    """All environments that the site declares, installed or not."""
    if site.software == "none":
        tables = site.declared.items()
        return [{"name": key, **table, "target_systems": [name]} for key, table in tables]
    if site.software == "spack":
        starts = {
            mpi: (launch.launcher, _options(launch, site)) for mpi, launch in site.launch.items()
        }
        variables = {mpi: list(_variables(launch).items()) for mpi, launch in site.launch.items()}
        return toolchains.environments(name, starts, variables, site.label)
    versions = catalogue(checkout)
    if site.transport:
        return [_over(name, key, site, versions) for key in site.transport]
    return [
        _plain(name, toolchain, site, versions) for toolchain in _usable_toolchains(site, versions)
    ]


def _usable_toolchains(site: SiteData, versions: Catalogue) -> list[Toolchain]:
    """Return the simulators if the site launches ranks by one, else all other toolchains."""
    families = {mpi.family for mpi in versions.mpis.values() if mpi.kind.simulator}
    is_simulated = not families.isdisjoint(site.launch)
    return [
        toolchain
        for toolchain in versions.available_toolchains
        if toolchain.mpi.kind.simulator == is_simulated
    ]


def _plain(
    system: str, toolchain: Toolchain, site: SiteData, versions: Catalogue
) -> dict[str, Any]:
    """The environment of a toolchain, under the toolchain's name."""
    variables, extras = _start(site, toolchain.mpi)
    last_boost = versions.last_boost
    return prebuilt_environment(
        system,
        toolchain.name,
        toolchain,
        variables,
        extras,
        suites_toolchain=None
        if toolchain.boost == last_boost
        else f"{toolchain.mpi.name}-{last_boost.name}",
        netpipe=True,
    )


def _over(system: str, key: str, site: SiteData, versions: Catalogue) -> dict[str, Any]:
    """The environment of a transport."""
    transport = site.transport[key]
    if transport.mpi not in versions.mpis:
        legal = ", ".join(versions.mpis)
        message = f"unknown MPI '{transport.mpi}' in transport '{key}'; there are: {legal}"
        raise UserError(message, f"site-configs/{system}/{data.FILE}")
    toolchain = Toolchain(versions.mpis[transport.mpi], versions.last_boost)
    variables, extras = _start(site, toolchain.mpi)
    title = f"{toolchain.mpi.title} over {transport.over}"
    return prebuilt_environment(
        system,
        key,
        toolchain,
        {**variables, **transport.variables},
        {"toolchain": title, "transport": transport.over, **extras},
    )


def _partition(
    partition: Partition, site: SiteData, environments: list[dict[str, Any]]
) -> dict[str, Any]:
    scheduler = next(
        (
            alternative
            for name, alternative in partition.scheduler_if.items()
            if site.condition[name]
        ),
        partition.scheduler,
    )
    extras = _extras(partition)
    account = os.environ.get("ROUNDTRIP_ACCOUNT")
    fields = {
        "name": partition.name,
        "descr": partition.description,
        "scheduler": scheduler,
        "launcher": partition.launcher,
        "access": [
            *partition.access,
            *([partition.account] if account and partition.account else []),
        ],
        "sched_options": partition.options,
        "environs": _environs(partition, site, environments),
        "env_vars": [list(pair) for pair in partition.variables.items()],
        "prepare_cmds": list(partition.prepare),
        "features": [
            *partition.features,
            *scales.features(extras.get("nodes"), extras.get("cores"), extras.get("sockets")),
            *_detected(site),
        ],
        "processor": partition.processor,
        "extras": extras,
        "max_jobs": _jobs(partition),
    }
    return {key: value for key, value in fields.items() if value or key == "environs"}


def _jobs(partition: Partition) -> int:
    """Return the limit of concurrent jobs, which a campaign raises if launches share no node."""
    job_limit = os.environ.get("ROUNDTRIP_SIDE_BY_SIDE", "")
    return (
        int(job_limit) if partition.side_by_side and job_limit.isdecimal() else partition.max_jobs
    )


def _detected(site: SiteData) -> list[str]:
    """Return the features of every partition that follow from installed software."""
    if site.software == "spack":
        return toolchains.spack_pvm()
    return debian_pvm() if "pvm" in site.detect else []


def _extras(partition: Partition) -> dict[str, Any]:
    """Return the extras, completed by the sizes of this machine or of its Slurm partition."""
    extras = partition.extras.model_dump(exclude_none=True)
    if partition.side_by_side:
        extras["side_by_side"] = True
    if "across" in extras:
        extras["across"] = list(extras["across"])
    if extras.get("processors") == "here":
        extras["processors"] = os.cpu_count()
    for key in ("cores", "sockets"):
        if extras.get(key) == "here":
            extras[key] = getattr(facts.read_host(), key)
    file = Path(extras.pop("size_from", ""))
    if file.is_file():
        extras |= slurm.partition_size(file.read_text(errors="replace"), partition.name)
    return extras


def _environs(
    partition: Partition, site: SiteData, environments: list[dict[str, Any]]
) -> list[str]:
    if partition.environs is not None:
        return list(partition.environs)
    if site.software == "spack":
        return toolchains.installed_names(environments, partition.without)
    conditions = {name: transport.unless for name, transport in site.transport.items()}
    exclusions = {name for name, key in conditions.items() if key and site.condition[key]}
    return [name for name in built_names(environments) if name not in exclusions]


def _start(site: SiteData, mpi: Mpi) -> tuple[dict[str, str], dict[str, object]]:
    """Return variables and extras to start ranks of `mpi`; UserError if the site has none."""
    if mpi.family not in site.launch:
        legal = ", ".join(site.launch)
        raise UserError(f"the site does not say how {mpi.title} starts ranks; it knows: {legal}")
    launch = site.launch[mpi.family]
    extras = launchers.launcher_extras(launch.launcher, _options(launch, site))
    return {**site.variables, **_variables(launch)}, extras


def _options(launch: Launch, site: SiteData) -> list[str]:
    """Options of a launch; `pmi` and `bind` are for srun only."""
    if launch.launcher not in (None, "srun"):
        return list(launch.options)
    return [*([f"--mpi={launch.pmi}"] if launch.pmi else []), *launch.options, *site.bind]


def _variables(launch: Launch) -> dict[str, str]:
    root_variables = launch.variables_as_root if os.geteuid() == 0 else {}
    return {**launch.variables, **root_variables}
