"""Environments out of a lock file: each is one concrete spec, and only one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from reframe.core.exceptions import ConfigError

from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites import render, software
from roundtrip.sites.software import one_to_one
from roundtrip.sites.toolchains import (
    environments,
    installed_names,
    prefix_of_spec,
    spack_pvm,
    toolchains,
)

CHECKOUT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "data" / "environment" / "spack.lock"
LAUNCH = {name: ("srun", ["--mpi=pmi2"]) for name in ("openmpi", "mpich", "mvapich", "mvapich2")}
NAMES = {
    f"{mpi}-{boost}"
    for mpi in ("openmpi41", "openmpi50", "mvapich2-23", "mvapich40", "mpich43")
    for boost in ("boost174", "boost181", "boost186")
}


def test_each_root_of_the_workloads_is_one_toolchain() -> None:
    lock = locks.read(RECORDED)
    found = toolchains(lock)
    assert {item.name for item in found} == NAMES
    assert len({item.root.hash for item in found}) == len(NAMES)
    for item in found:
        assert item.mpi.hash in {spec.hash for spec in lock.closure(item.root.hash)}
        assert {"osu-micro-benchmarks", "npb"} == set(item.suites)


def test_two_specs_of_one_name_are_refused_with_the_odd_one(tmp_path: Path) -> None:
    content = json.loads(RECORDED.read_text())
    first = content["roots"][0]
    content["concrete_specs"]["twin000"] = content["concrete_specs"][first["hash"]]
    content["roots"].append({"spec": "roundtrip-workloads@main ^elsewhere", "hash": "twin000"})
    file = tmp_path / "spack.lock"
    file.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"'openmpi41-boost174' would be two .*twin000.*elsewhere"):
        toolchains(locks.read(file))


def test_prefixes_are_those_of_the_view_or_of_the_external() -> None:
    lock = locks.read(RECORDED)
    view = RECORDED.parent / ".spack-view"
    item = next(item for item in toolchains(lock) if item.name == "openmpi50-boost186")
    assert prefix_of_spec(item.mpi, lock) == f"{view}/openmpi-5.0.8-{item.mpi.hash[:7]}"
    assert (
        prefix_of_spec(item.root, lock) == f"{view}/roundtrip-workloads-main-{item.root.hash[:7]}"
    )
    slurm = next(spec for spec in lock.specs.values() if spec.name == "slurm")
    assert prefix_of_spec(slurm, lock) == "/usr"


def test_environments_carry_their_spec_and_how_ranks_start(active: Path) -> None:
    found = {item["name"]: item for item in environments("infiniband", LAUNCH)}
    assert set(found) == NAMES
    item = found["mvapich2-23-boost181"]
    assert item["extras"]["launcher_options"] == ["--mpi=pmi2"]
    assert item["extras"]["toolchain"] == "MVAPICH2 2.3.7-1, Boost 1.81.0"
    assert item["target_systems"] == ["infiniband"]
    assert re.fullmatch(
        rf"{active}/\.spack-view/mvapich2-2\.3\.7-1-\w{{7}}/bin/mpicxx", item["cxx"]
    )
    assert one_to_one(locks.read(active / "spack.lock"), list(found.values()))[0].verdict == "ok"


def use_pvm(lock: Path, toolchains_with: int) -> None:
    """The workloads of so many toolchains of the lock file depend on PVM, others do not."""
    content = json.loads(lock.read_text())
    roots = [root for root in content["roots"] if root["spec"].startswith("roundtrip-workloads")]
    for root in roots[toolchains_with:]:
        spec = content["concrete_specs"][root["hash"]]
        spec["dependencies"] = [edge for edge in spec["dependencies"] if edge["name"] != "pvm"]
    lock.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("toolchains_with", "features"), [(0, []), (len(NAMES) - 1, []), (len(NAMES), ["pvm"])]
)
def test_pvm_is_offered_if_the_workloads_of_every_toolchain_use_it(
    active: Path, toolchains_with: int, features: list[str]
) -> None:
    use_pvm(active / "spack.lock", toolchains_with)
    assert spack_pvm() == features
    (system,) = render.render(CHECKOUT / "site-configs" / "infiniband")["systems"]
    for partition in system["partitions"]:
        assert ("pvm" in partition.get("features", [])) == bool(features)


def test_pvm_is_not_offered_without_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACK_ENV", raising=False)
    assert spack_pvm() == []


def test_each_has_the_hashes_of_what_spack_built_for_it(active: Path) -> None:
    lock = locks.read(active / "spack.lock")
    found = {item["name"]: item["extras"]["specs"] for item in environments("infiniband", LAUNCH)}
    for item in toolchains(lock):
        assert found[item.name] == {
            "roundtrip-workloads": f"main/{item.root.hash}",
            item.mpi.name: f"{item.mpi.version}/{item.mpi.hash}",
            "boost": f"{item.boost.version}/{item.boost.hash}",
        }


def test_osu_is_offered_once_for_each_mpi_or_how_to_get_it_is_said(active: Path) -> None:
    lock = locks.read(active / "spack.lock")
    suites = {item.name: item.suites["osu-micro-benchmarks"] for item in toolchains(lock)}
    shutil.rmtree(prefix_of_spec(suites["mpich43-boost186"], lock))
    found = {item["name"]: item for item in environments("infiniband", LAUNCH)}
    offers = {name for name, item in found.items() if "osu" in item["features"]}
    assert offers == {"openmpi41-boost186", "openmpi50-boost186"} | {
        f"mvapich{version}-boost186" for version in ("2-23", "40")
    }
    extras = found["openmpi50-boost186"]["extras"]
    assert ".spack-view/osu-micro-benchmarks-7.5-" in extras["osu_prefix"]
    lacking = {name: item["extras"]["lacks"]["osu"] for name, item in found.items()}
    assert lacking["mpich43-boost186"] == "spack install osu-micro-benchmarks ^mpich@4.3.2"
    assert lacking["mpich43-boost174"] == "it knows no Boost, mpich43-boost186 is enough"


def test_the_upstream_netpipe_is_the_reference_where_it_is_installed(active: Path) -> None:
    lock = locks.read(active / "spack.lock")
    content = json.loads(lock.file.read_text())
    suite = next(root for root in content["roots"] if root["spec"].startswith("osu-"))
    content["concrete_specs"][suite["hash"]] |= {"name": "netpipe", "version": "3.7.2"}
    lock.file.write_text(json.dumps(content))
    lock = locks.read(lock.file)
    place = prefix_of_spec(lock.specs[suite["hash"]], lock)
    Path(place).mkdir(parents=True)
    found = environments("infiniband", LAUNCH)
    offers = [item for item in found if "netpipe-reference" in item["features"]]
    assert [item["extras"]["netpipe_reference"] for item in offers] == [f"{place}/bin/NPmpi"]
    others = [item["extras"]["lacks"]["netpipe-reference"] for item in found if item not in offers]
    assert any(text.startswith("spack install netpipe ^") for text in others)


def test_what_is_not_installed_is_no_offer(active: Path) -> None:
    found = environments("infiniband", LAUNCH)
    assert set(installed_names(found)) == NAMES
    assert not any(
        "mvapich2" in name for name in installed_names(found, excluded_mpis=["mvapich2"])
    )
    lock = locks.read(active / "spack.lock")
    gone = next(item for item in toolchains(lock) if item.name == "mpich43-boost186")
    shutil.rmtree(prefix_of_spec(gone.root, lock))
    assert NAMES - set(installed_names(found)) == {"mpich43-boost186"}


def test_without_an_active_environment_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACK_ENV", raising=False)
    assert environments("infiniband", LAUNCH) == []


def test_an_mpi_that_the_site_cannot_start_is_an_error(active: Path) -> None:
    with pytest.raises(UserError, match=r"does not say how mpich@4\.3\.2 starts ranks"):
        environments("x", {name: how for name, how in LAUNCH.items() if name != "mpich"})


def test_the_one_to_one_check_names_the_odd_environment(active: Path) -> None:
    lock = locks.read(active / "spack.lock")
    found = environments("infiniband", LAUNCH)
    found[1]["extras"]["spec"] = found[0]["extras"]["spec"]
    found[2]["extras"]["spec"] = "f00dfeed"
    found[3]["extras"].pop("spec")
    details = [item.detail for item in one_to_one(lock, found) if item.verdict == "fault"]
    assert any("'openmpi41-boost174' and 'openmpi50-boost174' are both" in d for d in details)
    assert any("is f00dfee, which is no root" in d for d in details)
    assert any(f"'{found[3]['name']}' names no concrete spec" in d for d in details)
    assert sum(d.startswith("no environment for") for d in details) == 3


def test_nothing_to_run_with_is_said_where_reframe_would_pass(
    active: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environments("infiniband", LAUNCH)
    assert capsys.readouterr().err == ""
    shutil.rmtree(active / ".spack-view")
    environments("infiniband", LAUNCH)
    lock = active / "spack.lock"
    said = (
        f"site 'infiniband' can run no check: no toolchain of {lock} is installed: `spack install`"
    )
    assert capsys.readouterr().err == f"{said}\n"
    monkeypatch.delenv("SPACK_ENV")
    assert environments("infiniband", LAUNCH) == []
    assert "no concretized Spack environment is active" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["reframe", "-c", "checks", "-r"])
    with pytest.raises(ConfigError, match="site 'infiniband' can run no check"):
        environments("infiniband", LAUNCH)


@pytest.fixture
def twice(active: Path) -> locks.Lock:
    """The recorded lock file with a second MPICH 4.3.2, over libfabric and patched, and GCC."""
    file = active / "spack.lock"
    content: dict[str, Any] = json.loads(file.read_text())
    specs = content["concrete_specs"]
    (usual,) = (key for key, spec in specs.items() if spec["name"] == "mpich")
    second = json.loads(json.dumps(specs[usual]))
    second["parameters"]["netmod"] = "ofi"
    specs["ofi0000ofi"] = second
    specs["gcc0000gcc"] = {
        **json.loads(json.dumps(second)),
        **{"name": "gcc", "version": "12.2.0", "parameters": {}, "dependencies": []},
    }
    wanted = "roundtrip-workloads@main ^boost@1.86.0+mpi+serialization cxxstd=17 ^mpich@4.3"
    (root,) = (item for item in content["roots"] if item["spec"] == wanted)
    copy = json.loads(json.dumps(specs[root["hash"]]))
    by_gcc = {"hash": "gcc0000gcc", "name": "gcc", "parameters": {"virtuals": ["c", "cxx"]}}
    for spec in (copy, specs[root["hash"]]):
        spec["dependencies"].append(by_gcc)
    for edge in copy["dependencies"]:
        if edge["hash"] == usual:
            edge["hash"] = "ofi0000ofi"
        if edge["name"] == "boost":
            boost = json.loads(json.dumps(specs[edge["hash"]]))
            edge["hash"] = "boost00ofi"
    for edge in boost["dependencies"]:
        if edge["hash"] == usual:
            edge["hash"] = "ofi0000ofi"
    specs |= {"boost00ofi": boost, "root000ofi": copy}
    content["roots"].append({"spec": f"{wanted} netmod=ofi", "hash": "root000ofi"})
    file.write_text(json.dumps(content))
    return locks.read(file)


def names(lock: locks.Lock, label: Sequence[str]) -> set[str]:
    return {item.name for item in toolchains(lock, label) if item.boost.version == "1.86.0"}


def test_without_a_label_the_second_build_is_refused_and_the_label_is_named(
    twice: locks.Lock,
) -> None:
    with pytest.raises(UserError, match=r"'mpich43-boost186' would be two .*`label` in site\.toml"):
        toolchains(twice)
    (line,) = software.split_labels(twice, [])
    assert "netmod=ofi instead of ucx" in line
    assert line.endswith("or tell the two apart with `label` in site.toml")


@pytest.mark.parametrize(
    ("label", "mpich"),
    [
        (["netmod"], {"mpich43-ucx-boost186", "mpich43-ofi-boost186"}),
        (["patch", "netmod"], {"mpich43p2-ucx-boost186", "mpich43p2-ofi-boost186"}),
        (["netmod", "slurm"], {"mpich43-ucx-slurm-boost186", "mpich43-ofi-slurm-boost186"}),
        (
            ["netmod", "ucx", "compiler"],
            {"mpich43-ucx-ucx117-boost186-gcc12", "mpich43-ofi-ucx117-boost186-gcc12"},
        ),
    ],
)
def test_a_label_distinguishes_two_builds_of_a_series(
    twice: locks.Lock, label: list[str], mpich: set[str]
) -> None:
    found = names(twice, label)
    assert mpich <= found
    assert len(toolchains(twice, label)) == 16
    assert software.split_labels(twice, label) == []
    listed = environments("mine", LAUNCH, label=label)
    assert len({item["name"] for item in listed}) == 16
    both = [item for item in listed if item["name"] in mpich]
    assert len({item["cxx"] for item in both}) == 2
    assert len({item["extras"]["toolchain"] for item in both}) == 2


def test_titles_carry_what_the_label_has(twice: locks.Lock) -> None:
    found = {item.name: item.title for item in toolchains(twice, ["netmod", "ucx", "compiler"])}
    title = "MPICH 4.3.2, Boost 1.86.0, netmod ofi, UCX 1.17.0, GCC 12.2.0"
    assert found["mpich43-ofi-ucx117-boost186-gcc12"] == title


def test_a_label_with_too_little_still_refuses(twice: locks.Lock) -> None:
    with pytest.raises(UserError, match="would be two concrete specs"):
        toolchains(twice, ["patch"])
    assert "mpich@4.3.2 (mpich43p2) is 2 builds" in software.split_labels(twice, ["patch"])[0]


def test_a_part_that_nothing_has_is_refused(twice: locks.Lock) -> None:
    with pytest.raises(UserError, match="'ucxx' is neither patch, compiler, a variant of an MPI"):
        toolchains(twice, ["ucxx"])
