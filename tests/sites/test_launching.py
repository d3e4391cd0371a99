"""Scales follow from nodes and cores of a partition, placement from options of a launcher."""

from functools import partial

import pytest

from roundtrip.errors import UserError
from roundtrip.sites import launching, schedulers
from roundtrip.sites.schedulers.slurm import facts as slurm

BIG = {"nodes": 20, "cores": 48}
SLURM_CONF = """\
NodeName=DEFAULT Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 # of most
NodeName=n[01-12,20],login NodeAddr=10.0.0.1
NodeName=fat1 Sockets=1 CoresPerSocket=8
PartitionName=all Nodes=n[01-12,20],fat1 State=UP
PartitionName=thin Nodes=n[01-12]
PartitionName=none
"""


def test_a_partition_offers_what_fits_into_it() -> None:
    assert launching.size_features(1, 2) == ["cores_2"]
    assert launching.size_features(6, 4) == ["nodes_2", "nodes_4", "cores_2", "cores_4"]
    assert launching.size_features(None, None) == []
    assert launching.size_features(1, 2, 2) == ["cores_2", "sockets_2"]
    assert launching.size_features(1, 2, 1) == ["cores_2"]


@pytest.mark.parametrize(
    ("scale", "placement", "ranks"),
    [
        ("pair", "all-cores", (1, 2)),
        ("pair", "one-per-node", (2, 1)),
        ("node", "all-cores", (1, 48)),
        ("nodes_2", "all-cores", (2, 48)),
        ("nodes_16", "one-per-node", (16, 1)),
        ("all", "all-cores", (20, 48)),
        ("all", "one-per-node", (20, 1)),
    ],
)
def test_a_scale_is_nodes_and_their_ranks(
    scale: str, placement: str, ranks: tuple[int, int]
) -> None:
    assert launching.nodes_and_ranks_per_node(scale, placement, BIG) == ranks


@pytest.mark.parametrize(
    ("nodes", "cores", "fit"),
    [
        (1, 1, {"pair"}),
        (1, 8, {"pair", "node"}),
        (5, 8, {"pair", "node", "nodes_2", "nodes_4", "all"}),
        (64, 8, set(launching.SCALES)),
    ],
)
def test_a_partition_is_offered_the_scales_that_fit(nodes: int, cores: int, fit: set[str]) -> None:
    features = {"shared-memory", *launching.size_features(nodes, cores)}
    features |= {"one-per-node"} if nodes > 1 else set()
    names = {
        s for s in launching.SCALES if set(launching.features_for_scale(s, "all-cores")) <= features
    }
    assert names == fit


def test_a_number_of_ranks_needs_as_many_cores_or_nodes() -> None:
    assert launching.features_for_ranks(2, 2) == []
    assert launching.features_for_ranks(2, 1) == []
    assert launching.features_for_ranks(16, 16) == ["cores_16"]
    assert launching.features_for_ranks(16, 1) == ["nodes_16"]
    assert launching.features_for_ranks(32, 16) == ["cores_16"]
    assert launching.features_for_ranks(9, 9) == ["cores_16"]


def test_why_not() -> None:
    assert launching.describe_shortage("nodes_4", {"nodes": 2}) == "it has 2"
    assert launching.describe_shortage("cores_4", {}) == "it does not say how many cores it has"
    assert launching.describe_shortage("sockets_2", {"sockets": 1}) == "it has 1"
    assert launching.describe_shortage("osu", {}) is None


def test_slurm_says_how_large_its_partitions_are() -> None:
    size = partial(slurm.parse_partition_size, SLURM_CONF)
    assert size("all") == {"nodes": 14, "cores": 8, "sockets": 1}
    assert size("thin") == {"nodes": 12, "cores": 32, "sockets": 2}
    assert size("absent") == {}
    assert " ".join(slurm.expand_host_list("a[08-11],b,c[1,3]")) == "a08 a09 a10 a11 b c1 c3"
    with pytest.raises(UserError, match="is no list of nodes"):
        slurm.expand_host_list("a[3-1]")


MPI, CORES, PLACE = "--mpi=pmix", "--cpu-bind=verbose,cores", "--distribution=block:"
BOUND = [MPI, "--cpu-bind=cores"]
HYDRA = ["-iface", "eth0", "-bind-to", "core", "-map-by"]


@pytest.mark.parametrize(
    ("launcher", "options", "common", "one_socket", "two_sockets"),
    [
        ("srun", [MPI, CORES, f"{PLACE}block"], [MPI, CORES], f"{PLACE}block", f"{PLACE}cyclic"),
        ("srun", [MPI], BOUND, f"{PLACE}block", f"{PLACE}cyclic"),
        ("srunalloc", [MPI], BOUND, f"{PLACE}block", f"{PLACE}cyclic"),
        (
            *("mpirun", ["--map-by", "node", "--bind-to", "core"]),
            *(["--bind-to", "core", "--map-by"], "core", "socket"),
        ),
        ("mpiexec", ["-iface", "eth0"], HYDRA, "core", "socket"),
    ],
)
def test_what_places_is_replaced_and_what_binds_stays(
    launcher: str, options: list[str], common: list[str], one_socket: str, two_sockets: str
) -> None:
    known = launching.OPTIONS_BY_MPI_LAUNCHER.get(launcher) or schedulers.options_of_launcher(
        launcher
    )
    assert launching.replace_socket_options(known, "one-socket", options) == [*common, one_socket]
    assert launching.replace_socket_options(known, "two-sockets", options) == [*common, two_sockets]


def test_the_options_of_an_unknown_launcher_stay() -> None:
    assert schedulers.options_of_launcher("local") is None
    assert launching.replace_socket_options(None, "one-socket", ["x"]) == ["x"]
