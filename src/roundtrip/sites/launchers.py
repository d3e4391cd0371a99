"""What launchers must be told, whatever the site."""

from __future__ import annotations

#: More ranks than processors: no binding, and Open MPI's mpirun wants to be told. srun binds in the
#: allocation, which has a processor for each rank: it needs nothing.
_OVERSUBSCRIBED = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}


def oversubscribed(launcher: str) -> dict[str, list[str]]:
    """The extra of an environment that is started by `launcher`; none if it needs none."""
    options = _OVERSUBSCRIBED.get(launcher)
    return {"launcher_options_oversubscribed": list(options)} if options else {}
