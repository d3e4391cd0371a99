"""How two ranks come onto one socket of a node, or onto two: by the options of each launcher."""

from __future__ import annotations

import pytest

from roundtrip.sites import launching, schedulers

MPI, CORES = "--mpi=pmix", "--cpu-bind=verbose,cores"


@pytest.mark.parametrize(
    ("launcher", "options", "one_socket", "two_sockets"),
    [
        (
            "srun",
            [MPI, CORES, "--distribution=block:block"],
            [MPI, CORES, "--distribution=block:block"],
            [MPI, CORES, "--distribution=block:cyclic"],
        ),
        (
            "srun",
            [MPI],
            [MPI, "--cpu-bind=cores", "--distribution=block:block"],
            [MPI, "--cpu-bind=cores", "--distribution=block:cyclic"],
        ),
        (
            "srunalloc",
            [MPI],
            [MPI, "--cpu-bind=cores", "--distribution=block:block"],
            [MPI, "--cpu-bind=cores", "--distribution=block:cyclic"],
        ),
        (
            "mpirun",
            ["--map-by", "node", "--bind-to", "core"],
            ["--bind-to", "core", "--map-by", "core"],
            ["--bind-to", "core", "--map-by", "socket"],
        ),
        (
            "mpiexec",
            ["-iface", "eth0"],
            ["-iface", "eth0", "-bind-to", "core", "-map-by", "core"],
            ["-iface", "eth0", "-bind-to", "core", "-map-by", "socket"],
        ),
        ("local", ["x"], ["x"], ["x"]),
    ],
)
def test_what_places_is_replaced_and_what_binds_stays(
    launcher: str, options: list[str], one_socket: list[str], two_sockets: list[str]
) -> None:
    known = launching.MPI_LAUNCHERS.get(launcher) or schedulers.launcher_options(launcher)
    assert launching.socket_options(known, "one-socket", options) == one_socket
    assert launching.socket_options(known, "two-sockets", options) == two_sockets
