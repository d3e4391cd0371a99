"""What a site tells Spack of the MPIs and Boosts that were found on the machine."""

from __future__ import annotations

from pathlib import Path

from roundtrip.sites import matrix, spackpart, yamlfile
from roundtrip.sites.debian import External
from roundtrip.sites.software import files

CHECKOUT = Path(__file__).parents[2]
TEMPLATE = matrix.definitions(CHECKOUT / "site-configs" / "spack" / "spack")


def test_externals_pair_each_boost_with_its_mpi(tmp_path: Path) -> None:
    found = [
        External("openmpi", "openmpi@=4.1.4 +fortran", "/p/openmpi"),
        External("mpich", "mpich@=4.0.2 +fortran", "/p/mpich"),
        External("boost", "boost@=1.81.0 +mpi +serialization ^openmpi@=4.1.4", "/p/b1"),
        External("boost", "boost@=1.81.0 +mpi +serialization ^mpich@=4.0.2", "/p/b2"),
        External("boost", "boost@=1.74.0 +mpi +serialization ^mpich@=4.0.2", "/p/b3"),
    ]
    (tmp_path / "packages.yaml").write_text(spackpart.packages(found))
    (tmp_path / "definitions.yaml").write_text(spackpart.definitions(found, TEMPLATE))
    assert files(tmp_path, CHECKOUT / "spack.yaml")[0].verdict == "ok"
    assert "boost@=1.74.0" not in (tmp_path / "definitions.yaml").read_text()
    packages = yamlfile.load(tmp_path / "packages.yaml")["packages"]
    assert [item["prefix"] for item in packages["boost"]["externals"]] == [
        "/p/b1",
        "/p/b2",
        "/p/b3",
    ]
    assert packages["mpi"] == {"buildable": False}


def test_without_a_boost_of_each_mpi_spack_builds_those_of_the_template(tmp_path: Path) -> None:
    found = [
        External("openmpi", "openmpi@=4.1.4 +fortran", "/p/openmpi"),
        External("mpich", "mpich@=4.0.2 +fortran", "/p/mpich"),
    ]
    (tmp_path / "packages.yaml").write_text(spackpart.packages(found))
    (tmp_path / "definitions.yaml").write_text(spackpart.definitions(found, TEMPLATE))
    chosen = matrix.definitions(tmp_path)
    assert chosen["mpis"] == ["openmpi@=4.1.4", "mpich@=4.0.2"]
    assert chosen["boosts"] == TEMPLATE["boosts"]
    assert {"netpipe@3.7.2", "ddtbench@1.2"} <= set(chosen["suites"])
    assert "boost" not in yamlfile.load(tmp_path / "packages.yaml")["packages"]
