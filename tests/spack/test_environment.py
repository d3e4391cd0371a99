"""The root spack.yaml and every site's Spack part, as text: no Spack is needed."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.programs import CHECKOUT, run_program

from roundtrip.sites import software
from roundtrip.sites.programming_environments import VIEW_FOLDER_NAME

PARTS = sorted(path.parent for path in CHECKOUT.glob("site-configs/*/spack/definitions.yaml"))
MPIS = ("openmpi", "mpich", "mvapich", "mvapich2")


def environment() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((CHECKOUT / "spack.yaml").read_text())
    assert list(content) == ["spack"]
    spack: dict[str, Any] = content["spack"]
    return spack


def test_the_environment_has_what_spack_and_all_sites_need() -> None:
    spack = environment()
    sections = {"include", "repos", "specs", "concretizer", "config", "develop", "view"}
    assert set(spack) == sections, "only those that Spack knows"
    assert spack["concretizer"]["unify"] is False, "it may hold many MPIs"
    assert (CHECKOUT / spack["repos"]["roundtrip"] / "repo.yaml").is_file()
    assert (CHECKOUT / spack["develop"]["roundtrip-workloads"]["path"] / "CMakeLists.txt").is_file()
    # Spack can put a shorter path in place of a longer one, not the other way round.
    assert spack["config"]["install_tree"]["padded_length"] >= 128


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.parent.name)
def test_the_site_is_chosen_by_one_variable_that_activate_exports(part: Path) -> None:
    local, include, unused = environment()["include"]
    assert local == {"path": ".spack-local", "optional": True}  # first: it has the last word
    assert (CHECKOUT / unused["path"]).is_file()
    assert include["path_override_env_var"] == "ROUNDTRIP_SITE_SPACK"
    assert (CHECKOUT / include["path"]).is_dir()
    script = '. site-configs/activate "$0" && printenv ROUNDTRIP_SITE_SPACK'
    process = run_program("bash", "-c", script, part.parent.name, cwd=CHECKOUT)
    assert process.stdout.strip() == str(part)


def test_other_sites_leave_the_variable_alone() -> None:
    script = "unset ROUNDTRIP_SITE_SPACK; . site-configs/activate local; env"
    process = run_program("bash", "-c", script, cwd=CHECKOUT)
    assert "RFM_SYSTEM=local" in process.stdout
    assert "ROUNDTRIP_SITE_SPACK" not in process.stdout


def test_nothing_that_is_built_is_said_to_be_unused() -> None:
    lock_json = json.loads((CHECKOUT / "tests/sites/data/environment/spack.lock").read_text())
    built_names = {spec["name"] for spec in lock_json["concrete_specs"].values()}
    unused_packages = yaml.safe_load((CHECKOUT / "spack_repo/unused.yaml").read_text())["packages"]
    assert not built_names & set(unused_packages)
    assert set(map(str, unused_packages.values())) == {"{'buildable': False}"}
    for part in PARTS:
        packages = yaml.safe_load((part / "packages.yaml").read_text())["packages"]
        assert not set(packages) & set(unused_packages)


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        ((), "spack env activate . && spack concretize && spack install"),
        (("spack.lock",), "spack env activate . && spack install"),
        (("spack.lock", ".spack-view"), "toolchains are installed; to use them: spack env"),
    ],
)
def test_activate_asks_for_what_is_left(tmp_path: Path, files: tuple[str, ...], hint: str) -> None:
    shutil.copytree(CHECKOUT / "site-configs", tmp_path / "site-configs", symlinks=True)
    for name in files:
        (tmp_path / name).mkdir() if name == ".spack-view" else (tmp_path / name).touch()
    environ = {key: value for key, value in os.environ.items() if key != "SPACK_ENV"}

    def activate(**variables: str) -> str:
        environment = {**environ, **variables, "ROUNDTRIP_RUNS": str(tmp_path / "runs")}
        command = ("bash", "-c", ". site-configs/activate infiniband")
        return run_program(*command, cwd=tmp_path, env=environment, check=True).stderr

    assert hint in activate()
    if "spack.lock" in files:
        assert activate(SPACK_ENV=str(tmp_path)) == ""


def test_the_view_is_where_toolchains_look_for_it() -> None:
    view = environment()["view"]["toolchains"]
    assert view["root"] == VIEW_FOLDER_NAME
    assert set(MPIS) <= set(view["select"])
    assert view["exclude"] == ["boost"], "a link for each header takes longer than all else"
    # Two builds of one version must not share a prefix.
    assert view["projections"] == {"all": "{name}-{version}-{hash:7}"}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.parent.name)
def test_each_site_defines_what_the_matrix_uses_and_pins_what_it_offers(part: Path) -> None:
    (finding,) = software.check_spack_files(part, CHECKOUT / "spack.yaml")
    assert finding.verdict == "ok", finding.detail
    definitions = software.read_definitions(part)
    assert {spec.split("@")[0] for spec in definitions["mpis"]} <= set(MPIS)
    # ``[npb names=cg,lu]`` is two items to YAML: what looks like half a spec is a trap.
    assert [value for values in definitions.values() for value in values if "@" not in value] == []
    for npb in (v for v in definitions["suites"] if v.startswith("npb")):
        assert "names=" in npb
        assert "E" not in npb.split("classes=")[1]
    concretizer = yaml.safe_load((part / "concretizer.yaml").read_text())["concretizer"]
    assert concretizer["concretization_cache"]["enable"] is False
    assert concretizer["reuse"] is False


@pytest.mark.parametrize("site", ["infiniband", "roce"])
def test_a_cluster_offers_every_mpi_and_boost_on_its_fabric(site: str) -> None:
    part = CHECKOUT / "site-configs" / site / "spack"
    definitions = software.read_definitions(part)
    mpis, boosts = " ".join(definitions["mpis"]), [b.split()[0] for b in definitions["boosts"]]
    assert mpis == "openmpi@4.1 openmpi@5.0 mvapich2@2.3.7 mvapich@4.0 mpich@4.3"
    assert boosts == ["boost@1.74.0", "boost@1.81.0", "boost@1.86.0"]
    packages = yaml.safe_load((part / "packages.yaml").read_text())["packages"]
    for name in ("slurm", "rdma-core", "ucx"):
        assert packages[name]["buildable"] is False
    fabric = {"openmpi": "fabrics=ucx", "mpich": "netmod=ucx", "mvapich": "netmod=ucx"}
    for name, words in {**fabric, "mvapich2": "fabrics=mrail"}.items():
        requirement = str(packages[name]["require"][0])
        assert words in requirement
        assert "slurm" in requirement
        # `all: require:` does not reach a package that has requirements of its own.
        assert "target=x86_64_v3" in requirement
