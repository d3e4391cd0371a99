"""Options of launchers that do not depend on the site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Options for more ranks than processors: no binding, and Open MPI's mpirun must allow it. srun
#: needs none: it binds in the allocation, which has a processor for each rank.
_OVERSUBSCRIBED = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}
#: By launcher: the option that binds a rank to a core, and those that place two ranks in a node on
#: one socket, or on two.
_BIND = {
    "srun": ("--cpu-bind=cores",),
    "mpirun": ("--bind-to", "core"),
    "mpiexec": ("-bind-to", "core"),
}
_ON_SOCKETS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "srun": {
        "one-socket": ("--distribution=block:block",),
        "two-sockets": ("--distribution=block:cyclic",),
    },
    "mpirun": {"one-socket": ("--map-by", "core"), "two-sockets": ("--map-by", "socket")},
    "mpiexec": {"one-socket": ("-map-by", "core"), "two-sockets": ("-map-by", "socket")},
}


def at_first_failure(launcher: str) -> list[str]:
    """Options with which `launcher` ends a launch as soon as a rank fails.

    Else its partner waits for the time limit.  mpirun and mpiexec do so without an option.
    """
    return ["--kill-on-bad-exit=1"] if launcher in ("srun", "srunalloc") else []


def on_sockets(launcher: str, placement: str, options: Sequence[str]) -> list[str]:
    """The `options` of a launch for a `placement` of `scales.ON_SOCKETS`.

    How ranks are bound stays where it is said; how they are placed is replaced.
    """
    launcher = "srun" if launcher == "srunalloc" else launcher
    if launcher not in _ON_SOCKETS:
        return list(options)
    place, bind = _ON_SOCKETS[launcher][placement], _BIND[launcher]
    kept = _without(options, place)
    binds = any(_key(option) == _key(bind[0]) for option in kept)
    return [*kept, *(() if binds else bind), *place]


def _without(options: Sequence[str], one: Sequence[str]) -> list[str]:
    """Without each option of the name of `one`, whose value is in the same word or the next."""
    at = [number for number, option in enumerate(options) if _key(option) == _key(one[0])]
    gone = {number + step for number in at for step in range(len(one))}
    return [option for number, option in enumerate(options) if number not in gone]


def _key(option: str) -> str:
    return option.partition("=")[0]


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
