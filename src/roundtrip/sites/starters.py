"""How a new site starts the ranks of each MPI: by srun if srun can and binds, else by the MPI."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.sites.probe import Facts

#: PMIs of srun that an MPI can be built for, the one of base/slurm.toml first.
_SPEAKS = {
    "openmpi": ("pmix",),
    "mpich": ("pmi2", "pmix"),
    "mvapich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
}
#: The MPI's own program, and its option that binds a rank to a core.
_OWN = {"openmpi": ("mpirun", "--bind-to")}
_HYDRA = ("mpiexec", "-bind-to")


def pmi(mpi: str, facts: Facts) -> str | None:
    """The value of srun's ``--mpi`` for `mpi`; None if the MPI has to start its ranks itself."""
    if facts.binds_tasks is False or (mpi == "mvapich2" and _without_libraries(facts)):
        return None
    if not facts.pmi:
        return _SPEAKS[mpi][0]
    return next((name for name in _SPEAKS[mpi] if name in facts.pmi), None)


def ways(mpi: str, offered: Sequence[str]) -> list[tuple[str, ...]]:
    """Every way to start `mpi`: launcher and options, by srun with the PMIs `offered`, or by its
    own program."""
    by_srun = [("srun", f"--mpi={name}") for name in _SPEAKS.get(mpi, ()) if name in offered]
    launcher, bind = _OWN.get(mpi, _HYDRA)
    return [*by_srun, (launcher, bind, "core")]


def tables(facts: Facts) -> str:
    """The ``[launch]`` tables of a site.toml that differ from those of its base."""
    text = ""
    for mpi, (usual, *_) in _SPEAKS.items():
        chosen = pmi(mpi, facts)
        if chosen is None:
            launcher, bind = _OWN.get(mpi, _HYDRA)
            text += f'\n[launch.{mpi}]\nlauncher = "{launcher}" # {_why(mpi, facts)}\n'
            text += f'options = ["{bind}", "core"]\n'
        elif chosen != usual:
            text += f'\n[launch.{mpi}]\npmi = "{chosen}" # srun has no {usual}\n'
    return text


def as_started(packages: str, facts: Facts) -> str:
    """The text of a ``packages.yaml`` with each MPI built for the program that starts it."""
    mpich = pmi("mpich", facts)
    if mpich is None:
        packages = packages.replace("+slurm pmi=pmi2", "+hydra ~slurm")
    else:
        packages = packages.replace(" pmi=pmi2", f" pmi={mpich}")
    for mpi, fabric in (("mvapich", "netmod=ucx"), ("mvapich2", "fabrics=mrail")):
        chosen = pmi(mpi, facts)
        managed = f"slurm pmi_version={chosen}" if chosen else "hydra"
        packages = packages.replace(
            f"{fabric} process_managers=slurm pmi_version=pmi2",
            f"{fabric} process_managers={managed}",
        )
    return packages


def lines(facts: Facts) -> list[str]:
    """How each MPI starts its ranks, for people; and what could not be found out."""
    chosen = {mpi: pmi(mpi, facts) for mpi in _SPEAKS}
    told = [
        f"{mpi}: srun --mpi={name}"
        if name
        else f"{mpi}: {_OWN.get(mpi, _HYDRA)[0]}, {_why(mpi, facts)}"
        for mpi, name in chosen.items()
    ]
    return [f"how ranks start: {'; '.join(told)}"]


def unknown(facts: Facts) -> list[str]:
    """What has to be looked up by hand."""
    found = []
    if not facts.pmi:
        found.append("`pmi` of each `[launch]`, and of each MPI in `spack/packages.yaml`")
    if facts.binds_tasks is None:
        found.append("whether srun binds tasks (`scontrol show config`: TaskPlugin, task/affinity)")
    return found


def _without_libraries(facts: Facts) -> bool:
    """Whether Slurm is here without its libraries: MVAPICH2 takes its PMI from them."""
    slurm = facts.library("slurm")
    return slurm is not None and slurm.lacks is not None


def _why(mpi: str, facts: Facts) -> str:
    if facts.binds_tasks is False:
        return "srun binds no task here: TaskPlugin lacks task/affinity"
    if mpi == "mvapich2" and _without_libraries(facts):
        return "Slurm's PMI library is not installed here"
    return f"srun offers {', '.join(facts.pmi)} only"
