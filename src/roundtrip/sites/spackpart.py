"""Writes the Spack part of a new site: a shipped part, filled in with what a probe found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from roundtrip.sites import cluster, debian, matrix, yamlfile
from roundtrip.sites.debian import External
from roundtrip.sites.probe import Facts

_MPIS = ("openmpi", "mpich")


def packages(externals: list[External]) -> str:
    """``packages.yaml`` for a machine whose MPIs are externals."""
    entries: dict[str, dict[str, object]] = {
        "mpi": {"buildable": False},
        **{language: {"require": ["gcc"]} for language in ("c", "cxx", "fortran")},
    }
    for item in externals:
        entry = entries.setdefault(item.name, {"buildable": False, "externals": []})
        listed = entry["externals"]
        if isinstance(listed, list):
            listed.append({"spec": item.spec, "prefix": item.prefix})
    head = (
        "# Installed already, so Spack builds none of it. Paths of this machine: do not commit.\n"
    )
    return head + yamlfile.dump({"packages": entries})


def definitions(externals: list[External], template: Mapping[str, list[str]]) -> str:
    """``definitions.yaml`` for external MPIs: only what exists, and each Boost with its own MPI.

    A Boost external is built for one MPI; the product MPI x Boost holds no other pair then.
    Without any, Spack builds those of the template.
    """
    mpis = [item.spec.split()[0] for item in externals if item.name in _MPIS]
    boosts = [item.spec.split()[0] for item in externals if item.name == "boost"]
    numbers = [{spec for spec in boosts if any(_pairs(externals, spec, mpi))} for mpi in mpis]
    common = sorted(set.intersection(*numbers)) if numbers else []
    lists = [
        {"mpis": mpis},
        {"boosts": [f"{spec} +mpi +serialization" for spec in common] or template["boosts"]},
        {"suites": template["suites"]},
        {"comparators": template["comparators"]},
    ]
    return yamlfile.dump({"definitions": lists})


def _pairs(externals: list[External], boost: str, mpi: str) -> list[External]:
    return [i for i in externals if i.spec.startswith(boost + " ") and i.spec.endswith("^" + mpi)]


def write(source: Path, folder: Path, facts: Facts, base: str) -> list[str]:
    """Write ``spack/`` of the site in `folder` after `source`; return what is left to set."""
    target = folder / "spack"
    target.mkdir()
    for file in sorted(source.glob("*.yaml")):
        shutil.copyfile(file, target / file.name)
    file = target / "packages.yaml"
    if facts.partition is None:
        externals = debian.externals(folder / "prefix")
        if any(item.name in _MPIS for item in externals):
            file.write_text(packages(externals))
            chosen = definitions(externals, matrix.definitions(source))
            (target / "definitions.yaml").write_text(chosen)
        return []
    entries, unknown = cluster.entries(file.read_text(), facts, base)
    file.write_text(cluster.HEAD.format(source=source.parent.name) + yamlfile.dump(entries))
    if facts.port is None:  # MVAPICH2's device is InfiniBand
        chosen = (target / "definitions.yaml").read_text()
        (target / "definitions.yaml").write_text(re.sub(r"  - mvapich2@.*\n", "", chosen))
    return unknown
