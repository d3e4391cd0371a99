"""What launchers must be told, whatever the site."""

from __future__ import annotations

from collections.abc import Sequence

#: More ranks than processors: no binding, and Open MPI's mpirun wants to be told. srun binds in the
#: allocation, which has a processor for each rank: it needs nothing.
_OVERSUBSCRIBED = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}


def extras(launcher: str | None, options: Sequence[str]) -> dict[str, object]:
    """The extras of an environment whose ranks `launcher` starts with `options`.

    Without a launcher it is the partition's, which takes them.
    """
    found: dict[str, object] = {"launcher_options": list(options)}
    if launcher:
        found["launcher"] = launcher
        if unbound := _OVERSUBSCRIBED.get(launcher):
            found["launcher_options_oversubscribed"] = list(unbound)
    return found
