"""``packages.yaml`` of a new site with Slurm: a shipped one, fitted to what a probe found."""

from __future__ import annotations

import re
from typing import Any

import yaml  # type: ignore[import-untyped]

from roundtrip.sites import launchers, probe, slurm
from roundtrip.sites.probe import Facts, Library

#: The comments that explain each entry are in the shipped site.
HEAD = """\
# Written by `roundtrip site new`; site-configs/{source}/spack/packages.yaml explains each entry.
# Externals are what is installed here with headers and libraries; what is not, Spack builds.
"""
#: The words of the template for a fabric with UCX, and those for TCP without it.
_OVER_TCP = {"fabrics=ucx": "fabrics=none", "netmod=ucx": "netmod=ofi"}
_UCX = "+thread_multiple +cma ~cuda ~rocm"
_RDMA = "+verbs +rc +ud +dc +mlx5_dv"
#: Open MPI must share these with an external PMIx: two of one in a process end it.
_WITH_PMIX = ("pmix", "hwloc", "libevent")


def entries(template: str, facts: Facts, base: str) -> tuple[dict[str, Any], list[str]]:
    """The content of the file after the text `template`, and what is left to set."""
    text = fit_packages(template, facts)
    text = text.replace(
        f"target={probe.USUAL_TARGET}", f"target={facts.target or probe.USUAL_TARGET}"
    )
    if base == "tcp":
        for ucx, tcp in _OVER_TCP.items():
            text = text.replace(ucx, tcp)
    if series := slurm.pmix_series(facts.pmi):
        text = require_pmix(text, series)
    own = facts.library("slurm")
    if own is not None and own.lacks:  # MPICH looks for Slurm's libraries, Open MPI for srun
        text = text.replace("+slurm pmi=", "~slurm pmi=")
    packages = yaml.safe_load(text)["packages"]
    unknown = [] if facts.target else ["`target` in `spack/packages.yaml`: one that all nodes have"]
    if own is not None:
        packages["slurm"] = _external(own, f"slurm@{slurm_version(own.version)}")
    else:
        unknown.append("version and prefix of slurm in `spack/packages.yaml`")
    _below(packages, facts, base)
    return {"packages": packages}, unknown


def _below(packages: dict[str, Any], facts: Facts, base: str) -> None:
    """Entries of what an MPI stands on: taken from the machine where it can be built with."""
    rdma = _RDMA if facts.port else ""
    target = f"target={facts.target or probe.USUAL_TARGET}"
    for name in ("ucx", "rdma-core"):
        del packages[name]
    if base != "tcp":
        options = " ".join(f"{_UCX} {rdma}".split())
        ucx = facts.library("ucx")
        packages["ucx"] = (
            _external(ucx, f"ucx@{ucx.version} {options}")
            if ucx and not ucx.lacks
            else {"require": [f"{options} {target}"]}
        )
    core = facts.library("rdma-core")
    if facts.port and core and not core.lacks:
        packages["rdma-core"] = _external(core, f"rdma-core@{core.version}")
    whole = {item.name: item for item in facts.libraries if not item.lacks}
    if set(_WITH_PMIX) <= set(whole) and _fits(facts):
        for item in (whole[name] for name in _WITH_PMIX):
            entry = packages.setdefault(item.name, {})
            external = {"spec": f"{item.name}@{item.version}", "prefix": item.prefix}
            entry["externals"] = [external]


def _fits(facts: Facts) -> bool:
    """Whether the installed PMIx is of the series of Slurm's."""
    installed = facts.library("pmix")
    return installed is not None and installed.version.split(".")[0] == slurm.pmix_series(facts.pmi)


def _external(library: Library, spec: str) -> dict[str, Any]:
    return {"buildable": False, "externals": [{"spec": spec, "prefix": library.prefix}]}


def require_pmix(text: str, wanted: str) -> str:
    """The text of a ``packages.yaml`` with PMIx required in series `wanted`."""
    return re.sub(r"(?m)^(  pmix:.*\n    require: \[')@[\d.]+", rf"\g<1>@{wanted}", text)


def fit_packages(packages: str, facts: Facts) -> str:
    """The text of a ``packages.yaml`` with each MPI built for the program that starts it."""
    mpich = launchers.srun_pmi("mpich", facts)
    if mpich is None:
        packages = packages.replace("+slurm pmi=pmi2", "+hydra ~slurm")
    else:
        packages = packages.replace(" pmi=pmi2", f" pmi={mpich}")
    for mpi, fabric in (("mvapich", "netmod=ucx"), ("mvapich2", "fabrics=mrail")):
        chosen = launchers.srun_pmi(mpi, facts)
        managed = f"slurm pmi_version={chosen}" if chosen else "hydra"
        packages = packages.replace(
            f"{fabric} process_managers=slurm pmi_version=pmi2",
            f"{fabric} process_managers={managed}",
        )
    return packages


def slurm_version(text: str) -> str:
    """Slurm's ``23.11.1`` in Spack's spelling, ``23-11-1-1``."""
    number = re.match(r"[\d.]+", text)
    text = number[0] if number else text
    return "-".join(text.split(".")) + ("" if text.count(".") > 2 else "-1")
