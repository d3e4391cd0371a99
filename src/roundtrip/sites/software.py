"""Checks a site's Spack part: its files, and the lock file of the active environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roundtrip.campaign.site import Site
from roundtrip.errors import UserError
from roundtrip.sites import data, differences, matrix, spack, toolchains, yamlfile
from roundtrip.sites import lock as locks
from roundtrip.sites.findings import Finding, summarise
from roundtrip.sites.lock import Concrete, Lock


def files(folder: Path, environment: Path) -> list[Finding]:
    """What can be checked in a ``spack/`` folder without Spack."""
    defined = matrix.definitions(folder)
    faults = [
        f"definitions.yaml does not define '{name}', which spack.yaml uses"
        for name in sorted(matrix.names_used(environment) - set(defined))
    ]
    packages = (yamlfile.load(folder / "packages.yaml") or {}).get("packages", {})
    for mpi in defined.get("mpis", []):
        name = re.split(r"[@+~ ]", mpi, maxsplit=1)[0]
        settings = packages.get(name, {})
        if not settings.get("require") and not settings.get("externals"):
            faults.append(f"packages.yaml: {name} needs `require:`, or its fabric may change")
    faults += [
        f"packages.yaml: {name} uses `variants:`, only a preference: use `require:`"
        for name, settings in packages.items()
        if isinstance(settings, dict) and "variants" in settings
    ]
    faults += _unnamed_mpis(packages)
    concretizer = folder / "concretizer.yaml"
    if concretizer.is_file():
        settings = yamlfile.load(concretizer)["concretizer"]
        if settings.get("concretization_cache", {}).get("enable"):
            faults.append("concretizer.yaml: the concretization cache returns stale hashes")
    fine = f"{len(defined.get('mpis', []))} MPIs, {len(defined.get('boosts', []))} Boosts"
    return summarise("Spack part", faults, fine)


def schema(folder: Path, environment: Path) -> list[Finding]:
    """Whether Spack's own schema accepts the files; not checked without Spack."""
    subject = "Spack's schema"
    try:
        found = spack.find()
        if found is None:
            return [Finding("not checked", subject, "no spack in $SPACK_ROOT or PATH")]
        names = [environment, *sorted(folder.glob("*.yaml"))]
        fine = f"{len(names)} files, Spack {found.version}"
        return summarise(subject, found.schema_faults(names), fine)
    except UserError as error:
        return [Finding("fault", subject, error.what)]


def lock_file(site: Site, folder: Path, environment: Path) -> list[Finding]:
    """Whether the active lock has one build for each MPI, the whole matrix, and one spec for each
    toolchain."""
    active = toolchains.active_lock()
    if active is None:
        return [Finding("not checked", "lock file", "no concretized Spack environment is active")]
    try:
        lock = locks.read(active)
        wanted = matrix.expand(environment, matrix.definitions(folder))
        declared = data.from_folder(site.folder, site.checkout)
        return [
            *one_build_per_mpi(lock, declared.label if declared else ()),
            *summarise(
                "matrix",
                matrix.mismatches(lock, wanted),
                f"{len(wanted)} roots, all in the lock file",
            ),
            *one_to_one(lock, list(site.toolchains.values())),
            *(differences.check_pmix_lock(declared, lock) if declared else []),
        ]
    except UserError as error:
        return [Finding("fault", "lock file", str(error))]


def one_build_per_mpi(lock: Lock, label: Sequence[str] = ()) -> list[Finding]:
    """Whether each MPI, told apart by the site's `label`, has one concrete hash, and all have one
    target."""
    builds = sorted((spec.label, spec.hash[:7]) for spec in lock.mpis.values())
    listing = ", ".join(f"{name} {hash_}" for name, hash_ in builds)
    faults = split(lock, label)
    return summarise("one build per MPI", faults, listing or "the lock file holds no MPI")


def split(lock: Lock, label: Sequence[str]) -> list[str]:
    """A line for each label of two builds, and for each second target."""

    def named(mpi: Concrete) -> str:
        own = toolchains.mpi_name(mpi, lock, label)
        return f"{mpi.label} ({own})" if label else mpi.label

    return locks.split_builds(lock, named) + locks.split_targets(lock)


def one_to_one(lock: Lock, environs: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Whether each ReFrame environment is one root of the lock, and each root one environment."""
    roots = toolchains.workload_roots(lock)
    faults = []
    taken: dict[str, str] = {}
    for environ in environs:
        name, spec = environ["name"], environ.get("extras", {}).get("spec")
        if spec is None:
            faults.append(f"environment '{name}' names no concrete spec (extras: spec)")
        elif spec not in roots:
            faults.append(f"environment '{name}' is {spec[:7]}, which is no root of the lock file")
        elif spec in taken:
            faults.append(f"environments '{taken[spec]}' and '{name}' are both {spec[:7]}")
        else:
            taken[spec] = name
    faults += [
        f"no environment for {name} ({hash_[:7]})"
        for hash_, name in roots.items()
        if hash_ not in taken
    ]
    return summarise("one spec an environment", faults, f"{len(taken)} environments")


def _unnamed_mpis(packages: Mapping[str, Any]) -> list[str]:
    """Boost externals that do not name their MPI; Spack would take any MPI for them."""
    externals = packages.get("boost", {}).get("externals", [])
    return [
        f"packages.yaml: external '{item['spec']}' does not name its MPI (^openmpi@...)"
        for item in externals
        if "+mpi" in item["spec"] and "^" not in item["spec"]
    ]
