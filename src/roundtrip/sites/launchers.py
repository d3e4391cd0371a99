"""Options of launchers that do not depend on the site."""

from __future__ import annotations

from collections.abc import Sequence

#: Options for more ranks than processors: no binding, and Open MPI's mpirun must allow it. srun
#: needs none: it binds in the allocation, which has a processor for each rank.
_OVERSUBSCRIBED = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}


def extras(launcher: str | None, options: Sequence[str]) -> dict[str, object]:
    """The extras of an environment whose ranks `launcher` starts with `options`.

    Without a `launcher`, the partition's launcher starts the ranks, with these options.
    """
    found: dict[str, object] = {"launcher_options": list(options)}
    if launcher:
        found["launcher"] = launcher
        if unbound := _OVERSUBSCRIBED.get(launcher):
            found["launcher_options_oversubscribed"] = list(unbound)
    return found
