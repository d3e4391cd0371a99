"""`roundtrip site new`: a folder that ReFrame loads, filled in with what was found."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roundtrip import tables
from roundtrip.errors import UserError
from roundtrip.sites import check, new, new_spack, render, schedulers, site_file, software
from roundtrip.sites.new_spack import SpackExternal
from roundtrip.sites.probe import FabricPort, Library, MachineFacts
from roundtrip.sites.schedulers.interface import Cluster, SchedulerPartition
from roundtrip.sites.schedulers.slurm import site as slurm_site
from roundtrip.sites.site import Site
from roundtrip.sites.software import check_spack_files

SLURM = schedulers.SCHEDULERS[0]
CLUSTER = MachineFacts(
    scheduler=SLURM,
    cluster=Cluster(version="24.05.3", partitions=(SchedulerPartition("batch", True, 64, 32),)),
    ports=(FabricPort("mlx5_2", 1, True, "InfiniBand"),),
    interfaces=(("eno1", False), ("ibs2", True)),
    target="x86_64_v3",
    libraries=(Library("slurm", "24.05.3"), Library("ucx", "1.16.0"), Library("gcc", "13.2.0")),
)
ROCE = MachineFacts(
    scheduler=SLURM,
    cluster=Cluster(partitions=(SchedulerPartition("batch", True, 64, 32),)),
    ports=(FabricPort("mlx5_bond_0", 1, True, "Ethernet"),),
    interfaces=(("eth2", False),),
)
ETHERNET = MachineFacts(
    scheduler=SLURM,
    cluster=Cluster(partitions=(SchedulerPartition("all", False, 4, 8),)),
    interfaces=(("eno2", False),),
    libraries=(Library("ucx", "1.16.0"),),
)
TCP = replace(ETHERNET, libraries=())


def cluster(facts: MachineFacts, **changes: Any) -> MachineFacts:
    """`facts` with changes of what the scheduler says."""
    return replace(facts, cluster=replace(facts.cluster, **changes))


@pytest.mark.parametrize(
    ("facts", "partitions", "device"),
    [
        (CLUSTER, ["ib-rc", "ib-dc", "ib-ud", "ipoib-tcp"], "mlx5_2:1"),
        (ROCE, ["roce-rc", "roce-ud", "ethernet-tcp"], "mlx5_bond_0:1"),
        (ETHERNET, ["ethernet-tcp"], "eno2"),
        (TCP, ["tcp"], "eno2"),
    ],
    ids=["infiniband", "roce", "ethernet", "tcp"],
)
def test_a_cluster_gets_a_site_that_loads_and_is_sound(
    checkout: Path, spack_environment: Path, facts: MachineFacts, partitions: list[str], device: str
) -> None:
    folder = new.write_site("mine", facts, checkout)
    site = Site("mine", checkout)
    assert list(site.partitions) == partitions
    first = site.partitions[partitions[0]]
    assert dict(first["env_vars"])["UCX_NET_DEVICES"] == device
    partition, *_ = facts.cluster.usable_partitions
    assert f"--partition={partition.name}" in first["access"]
    assert {"shared-memory", "oversubscribed", "one-per-node", "hybrid"} <= set(first["features"])
    nodes, cores = partition.nodes, partition.cores
    assert (first["extras"]["nodes"], first["extras"]["cores"]) == (nodes, cores)
    assert {f"nodes_{nodes}", f"cores_{cores}"} <= set(first["features"])
    assert f"nodes_{2 * nodes}" not in first["features"]
    site_data = site_file.read_site_data(folder / "site.toml", checkout)
    (finding,) = software.check_pmix_package(site_data, folder / "spack/packages.yaml")
    assert finding.verdict == "ok"
    for item in site.partitions.values():
        assert item["extras"]["interface"] in [name for name, _ in facts.interfaces]
    assert len(site.toolchains) == 15
    definitions = (folder / "spack" / "definitions.yaml").read_text()
    assert ("mvapich2@" in definitions) == bool(facts.ports), "its device is InfiniBand"
    assert "mvapich@4.0" in definitions
    findings = [*check.check_site_files(site), *check.check_partitions(site)]
    findings += check_spack_files(folder / "spack", checkout / "spack.yaml")
    assert [item for item in findings if item.verdict == "fault"] == []


def launch(site: Site) -> dict[str, list[str]]:
    """Launcher and its options, by MPI."""
    extras = [item["extras"] for item in site.toolchains.values()]
    return {item["mpi"]: [item["launcher"], *item["launcher_options"]] for item in extras}


def by_srun(pmi: str) -> list[str]:
    return ["srun", f"--mpi={pmi}", "--cpu-bind=cores", "--distribution=block:block"]


MPIRUN, HYDRA = ["mpirun", "--bind-to", "core"], ["mpiexec", "-bind-to", "core"]


@pytest.mark.parametrize(
    ("pmi", "binds", "openmpi", "mpich", "variants"),
    [
        (("pmix", "pmi2"), True, by_srun("pmix"), by_srun("pmi2"), "+slurm pmi=pmi2"),
        (("pmix",), True, by_srun("pmix"), by_srun("pmix"), "+slurm pmi=pmix"),
        (("none", "pmi2"), None, MPIRUN, by_srun("pmi2"), "+slurm pmi=pmi2"),
        (("none",), True, MPIRUN, HYDRA, "+hydra ~slurm"),
        (("pmix", "pmi2"), False, MPIRUN, HYDRA, "+hydra ~slurm"),
        ((), None, by_srun("pmix"), by_srun("pmi2"), "+slurm pmi=pmi2"),
    ],
    ids=["both", "pmix alone", "pmi2 alone", "neither", "srun binds nothing", "unknown"],
)
def test_ranks_start_by_what_srun_offers_and_the_mpi_is_built_for_it(
    checkout: Path,
    spack_environment: Path,
    pmi: tuple[str, ...],
    binds: bool | None,
    openmpi: list[str],
    mpich: list[str],
    variants: str,
) -> None:
    folder = new.write_site("mine", cluster(CLUSTER, offered_pmis=pmi, binds_tasks=binds), checkout)
    site = Site("mine", checkout)
    starts = launch(site)
    assert (starts["openmpi"], starts["mpich"]) == (openmpi, mpich)
    assert [item.detail for item in check.check_partitions(site) if item.verdict == "fault"] == []
    packages = packages_of(folder)
    assert variants in packages["mpich"]["require"][0]
    assert "slurm" not in packages["mvapich"]["require"][0] or starts["mvapich"][0] == "srun"
    readme = (folder / "README.md").read_text()
    start = "srun --mpi=pmix" if openmpi[0] == "srun" else "mpirun, because "
    assert re.search(rf"\bopenmpi[\w, ]*: {start}", readme)
    assert ("how ranks start (assumed): " in readme) is (pmi == ())
    assert ("`pmi` of each" in readme) is (pmi == ())
    assert ("task/affinity" in readme) is (binds is not True)


def test_versions_go_to_spack_and_what_is_unknown_to_the_readme(checkout: Path) -> None:
    folder = new.write_site("mine", CLUSTER, checkout)
    packages = packages_of(folder)
    assert packages["slurm"]["externals"][0]["spec"] == "slurm@24-05-3-1"
    assert packages["ucx"]["externals"][0]["spec"].startswith("ucx@1.16.0 +thread_multiple")
    assert "- `pmix` in `site.toml`" in (folder / "README.md").read_text()


def test_a_machine_of_which_all_is_known_leaves_nothing_to_set(checkout: Path) -> None:
    folder = new.write_site("mine", MachineFacts(), checkout, software="toolchains")
    assert list(Site("mine", checkout).partitions) == ["smp"]
    paragraphs = (folder / "README.md").read_text().split("\n\n")
    assert [text.splitlines()[0] for text in paragraphs[2:]] == [
        "Found:",
        "- scheduler: none, PATH has no command of Slurm",
        "Read every value of `site.toml` once, then `roundtrip site check mine`.",
    ]


def test_a_scheduler_without_a_partition_is_no_machine_without_scheduler(checkout: Path) -> None:
    """Its controller may be down."""
    facts = MachineFacts(scheduler=SLURM, cluster=Cluster(version="24.05.3"))
    with pytest.raises(UserError, match="^Slurm lists no partition that starts jobs; try again"):
        new.write_site("mine", facts, checkout)
    with pytest.raises(UserError, match="^--partition: no scheduler was found"):
        new.write_site("mine", MachineFacts(), checkout, ["batch"])
    assert not (checkout / "site-configs" / "mine").exists()


def test_the_shipped_packages_are_for_the_first_scheduler() -> None:
    """`site new` replaces these variants by those of the scheduler at hand."""
    for name in ("infiniband", "roce"):
        folder = Path(__file__).parents[2] / "site-configs" / name
        for mpi, variants in SLURM.spack_variants(Cluster(), has_library=True).items():
            assert variants in packages_of(folder)[mpi]["require"][0]


def test_a_site_is_never_overwritten(checkout: Path) -> None:
    text = (checkout / "site-configs" / "infiniband" / "site.toml").read_text()
    with pytest.raises(UserError, match="there is one already"):
        new.write_site("infiniband", CLUSTER, checkout)
    assert (checkout / "site-configs" / "infiniband" / "site.toml").read_text() == text


@pytest.mark.parametrize("name", ["", "../x", "a b", "9lives", "a.b", "aé", "a" * 101])
def test_a_bad_name_is_refused(checkout: Path, name: str) -> None:
    with pytest.raises(UserError, match="no name for a site"):
        new.write_site(name, CLUSTER, checkout)


@pytest.mark.parametrize(("version", "spelling"), [("23.11.1", "23-11-1-1"), ("24.05", "24-05-1")])
def test_slurms_version_in_spacks_spelling(version: str, spelling: str) -> None:
    assert schedulers.SCHEDULERS[0].spack_spec(version) == f"slurm@{spelling}"


def packages_of(folder: Path) -> dict[str, Any]:
    packages: dict[str, Any] = tables.load_yaml(folder / "spack" / "packages.yaml")["packages"]
    return packages


@pytest.mark.parametrize(
    ("plugins", "expected"), [(("pmix", "pmix_v3"), "4"), (("pmix", "pmix_v4", "pmix_v5"), "5")]
)
def test_pmix_has_the_series_of_slurms(
    checkout: Path, plugins: tuple[str, ...], expected: str
) -> None:
    folder = new.write_site("mine", cluster(CLUSTER, offered_pmis=plugins), checkout)
    site = site_file.read_site_data(folder / "site.toml", checkout)
    assert site.pmix == expected
    assert packages_of(folder)["pmix"]["require"][0].startswith(f"@{expected} ")
    assert site.launch["openmpi"].variables["PMIX_MCA_gds"] == "hash"
    assert slurm_site.pmix_faults(site, plugins) == []
    (line,) = slurm_site.pmix_faults(site, ["pmix_v6"])
    assert line == 'srun has PMIx of series 6: `pmix = "6"` in site.toml'


def test_every_node_is_measured_once_and_each_kind_has_its_size(checkout: Path) -> None:
    """Slurm offers nodes under several names; `gpu` has nodes of its own."""
    partitions = (
        SchedulerPartition("debug", False, 2, 32, frozenset({"n1", "n2"})),
        SchedulerPartition("batch", True, 4, 32, frozenset({"n1", "n2", "n3", "n4"})),
        SchedulerPartition("gpu.new", False, 2, 64, frozenset({"g1", "g2"})),
        SchedulerPartition("login", False, 1, 8, frozenset({"l1"})),
    )
    new.write_site("mine", cluster(TCP, partitions=partitions), checkout)
    site_partitions = {item["name"]: item for item in rendered(checkout)}
    assert list(site_partitions) == ["tcp", "tcp-gpu-new"]
    assert "--partition=batch" in site_partitions["tcp"]["access"]
    assert "--partition=gpu.new" in site_partitions["tcp-gpu-new"]["access"]
    all_extras = [item["extras"] for item in site_partitions.values()]
    assert [(extras["nodes"], extras["cores"]) for extras in all_extras] == [(4, 32), (2, 64)]
    new.write_site("other", cluster(TCP, partitions=partitions), checkout, ["debug"])
    assert [item["access"][0] for item in rendered(checkout, "other")] == ["--partition=debug"]
    with pytest.raises(UserError, match="Slurm has no partition 'x'; there are: batch, debug, gpu"):
        new.write_site("third", cluster(TCP, partitions=partitions), checkout, ["x"])
    assert not (checkout / "site-configs" / "third").exists()


def rendered(checkout: Path, name: str = "mine") -> list[dict[str, Any]]:
    (system,) = render.reframe_configuration(checkout / "site-configs" / name)["systems"]
    partitions: list[dict[str, Any]] = system["partitions"]
    return partitions


def test_externals_are_what_can_be_built_with(checkout: Path) -> None:
    """Headers and libraries, or Spack builds it; where they are, and for the nodes that are."""
    libraries = (
        Library("slurm", "22.05.8", "/opt/slurm", missing_file="include/slurm/slurm.h"),
        Library("ucx", "1.13.1", "/usr", missing_file="include/ucp/api/ucp.h"),
        Library("rdma-core", "44.0", "/usr", missing_file="include/infiniband/verbs.h"),
        Library("pmix", "4.2.2", "/opt/pmix"),
        Library("hwloc", "2.9.0", "/usr"),
        Library("libevent", "2.1.12", "/usr"),
    )
    facts = replace(
        cluster(CLUSTER, offered_pmis=("pmix_v4", "pmi2")), libraries=libraries, target="x86_64_v2"
    )
    folder = new.write_site("mine", facts, checkout)
    packages = packages_of(folder)
    assert packages["slurm"]["externals"][0]["prefix"] == "/opt/slurm"
    assert "externals" not in packages["ucx"]
    assert "+verbs" in packages["ucx"]["require"][0]
    assert "rdma-core" not in packages
    assert "~slurm pmi=pmi2" in packages["mpich"]["require"][0]
    assert "process_managers=hydra" in packages["mvapich2"]["require"][0]
    site = site_file.read_site_data(folder / "site.toml", checkout)
    assert site.launch["mvapich2"].launcher == "mpiexec"
    assert packages["pmix"]["externals"] == [{"spec": "pmix@4.2.2", "prefix": "/opt/pmix"}]
    assert "x86_64_v3" not in (folder / "spack" / "packages.yaml").read_text()
    other_facts = cluster(facts, offered_pmis=("pmix_v5",))
    assert "externals" not in packages_of(new.write_site("other", other_facts, checkout))["pmix"]


HELLO = """
#include <mpi.h>
#include <cstdio>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) std::printf("size %d\\n", size);
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_prefix_compiles_and_starts_with_its_own_mpi(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(f"mpicxx.{name}"):
        pytest.skip(f"no mpicxx.{name}: apt install {name}-bin or {name}")
    for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(variable, "1")
    external = next(item for item in new_spack.make_debian_externals(tmp_path) if item.name == name)
    prefix = Path(external.prefix)
    assert prefix.parent == tmp_path
    assert (prefix / "include" / "mpi.h").is_file()
    (tmp_path / "hello.cpp").write_text(HELLO)
    program = tmp_path / "hello"
    compiler = [prefix / "bin" / "mpicxx", tmp_path / "hello.cpp", "-o", program]
    subprocess.run(compiler, check=True, timeout=60)
    starter = [prefix / "bin" / "mpiexec", "-n", "2", program]
    process = subprocess.run(starter, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert process.stdout == "size 2\n", process.stderr


CHECKOUT = Path(__file__).parents[2]
TEMPLATE = software.read_definitions(CHECKOUT / "site-configs" / "spack" / "spack")
MPIS = (
    SpackExternal("openmpi", "openmpi@=4.1.4 +fortran", "/p/openmpi"),
    SpackExternal("mpich", "mpich@=4.0.2 +fortran", "/p/mpich"),
)


def write_part(folder: Path, externals: list[SpackExternal]) -> dict[str, Any]:
    """Write packages.yaml and definitions.yaml to `folder`; return the packages."""
    (folder / "packages.yaml").write_text(new_spack.external_packages_yaml(externals))
    (folder / "definitions.yaml").write_text(
        new_spack.external_definitions_yaml(externals, TEMPLATE)
    )
    packages: dict[str, Any] = tables.load_yaml(folder / "packages.yaml")["packages"]
    return packages


def test_externals_pair_each_boost_with_its_mpi(tmp_path: Path) -> None:
    boosts = [
        SpackExternal("boost", "boost@=1.81.0 +mpi +serialization ^openmpi@=4.1.4", "/p/b1"),
        SpackExternal("boost", "boost@=1.81.0 +mpi +serialization ^mpich@=4.0.2", "/p/b2"),
        SpackExternal("boost", "boost@=1.74.0 +mpi +serialization ^mpich@=4.0.2", "/p/b3"),
    ]
    packages = write_part(tmp_path, [*MPIS, *boosts])
    assert check_spack_files(tmp_path, CHECKOUT / "spack.yaml")[0].verdict == "ok"
    assert "boost@=1.74.0" not in (tmp_path / "definitions.yaml").read_text()
    prefixes = [item["prefix"] for item in packages["boost"]["externals"]]
    assert prefixes == ["/p/b1", "/p/b2", "/p/b3"]
    assert packages["mpi"] == {"buildable": False}


def test_without_a_boost_of_each_mpi_spack_builds_those_of_the_template(tmp_path: Path) -> None:
    packages = write_part(tmp_path, [*MPIS])
    definitions = software.read_definitions(tmp_path)
    assert definitions["mpis"] == ["openmpi@=4.1.4", "mpich@=4.0.2"]
    assert definitions["boosts"] == TEMPLATE["boosts"]
    assert {"netpipe@3.7.2", "ddtbench@1.2"} <= set(definitions["suites"])
    assert "boost" not in packages
