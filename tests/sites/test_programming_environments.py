"""Environments out of a lock file: each is one concrete spec, and only one."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from reframe.core.exceptions import ConfigError
from support.software import LOCK_FILE, replace_osu_by_netpipe

from roundtrip.errors import UserError
from roundtrip.sites import launching, render, software
from roundtrip.sites import lock as locks
from roundtrip.sites.programming_environments import (
    installed_environment_names,
    prefix_of_spec,
    spack_environments,
    spack_pvm_features,
    toolchains_in_lock,
)
from roundtrip.sites.software import check_one_spec_per_environment

CHECKOUT = Path(__file__).parents[2]
BY_SRUN = ({}, launching.launcher_extras("srun", ["--mpi=pmi2"]))
LAUNCH = dict.fromkeys(("openmpi", "mpich", "mvapich", "mvapich2"), BY_SRUN)
NAMES = {
    f"{mpi}-{boost}"
    for mpi in ("openmpi41", "openmpi50", "mvapich2-23", "mvapich40", "mpich43")
    for boost in ("boost174", "boost181", "boost186")
}


def test_each_root_of_the_workloads_is_one_toolchain() -> None:
    lock = locks.read_lock(LOCK_FILE)
    all_toolchains = toolchains_in_lock(lock)
    assert {item.name for item in all_toolchains} == NAMES
    assert len({item.root.hash for item in all_toolchains}) == len(NAMES)
    for item in all_toolchains:
        assert item.mpi.hash in {spec.hash for spec in lock.closure(item.root.hash)}
        assert {"osu-micro-benchmarks", "npb"} == set(item.suites)


def test_two_specs_of_one_name_are_refused_with_the_odd_one(tmp_path: Path) -> None:
    content = json.loads(LOCK_FILE.read_text())
    first = content["roots"][0]
    content["concrete_specs"]["twin000"] = content["concrete_specs"][first["hash"]]
    content["roots"].append({"spec": "roundtrip-workloads@main ^elsewhere", "hash": "twin000"})
    file = tmp_path / "spack.lock"
    file.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"'openmpi41-boost174' would be two .*twin000.*elsewhere"):
        toolchains_in_lock(locks.read_lock(file))


def test_prefixes_are_those_of_the_view_or_of_the_external() -> None:
    lock = locks.read_lock(LOCK_FILE)
    view = LOCK_FILE.parent / ".spack-view"
    item = next(item for item in toolchains_in_lock(lock) if item.name == "openmpi50-boost186")
    assert prefix_of_spec(item.mpi, lock) == f"{view}/openmpi-5.0.8-{item.mpi.hash[:7]}"
    workloads = f"roundtrip-workloads-main-{item.root.hash[:7]}"
    assert prefix_of_spec(item.root, lock) == f"{view}/{workloads}"
    slurm = next(spec for spec in lock.specs.values() if spec.name == "slurm")
    assert prefix_of_spec(slurm, lock) == "/usr"


def test_environments_carry_their_spec_and_how_ranks_start(spack_environment: Path) -> None:
    environs = {item["name"]: item for item in spack_environments("infiniband", LAUNCH)}
    assert set(environs) == NAMES
    item = environs["mvapich2-23-boost181"]
    assert item["extras"]["launcher_options"] == ["--mpi=pmi2"]
    assert item["extras"]["toolchain"] == "MVAPICH2 2.3.7-1, Boost 1.81.0"
    assert item["target_systems"] == ["infiniband"]
    view = rf"{spack_environment}/\.spack-view"
    assert re.fullmatch(rf"{view}/mvapich2-2\.3\.7-1-\w{{7}}/bin/mpicxx", item["cxx"])
    lock = locks.read_lock(spack_environment / "spack.lock")
    (finding,) = check_one_spec_per_environment(lock, list(environs.values()))
    assert finding.verdict == "ok"


def use_pvm(lock: Path, pvm_count: int) -> None:
    """The workloads of so many toolchains of the lock file depend on PVM, others do not."""
    content = json.loads(lock.read_text())
    roots = [root for root in content["roots"] if root["spec"].startswith("roundtrip-workloads")]
    for root in roots[pvm_count:]:
        spec = content["concrete_specs"][root["hash"]]
        spec["dependencies"] = [edge for edge in spec["dependencies"] if edge["name"] != "pvm"]
    lock.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("count", "features"), [(0, []), (len(NAMES) - 1, []), (len(NAMES), ["pvm"])]
)
def test_pvm_is_offered_if_the_workloads_of_every_toolchain_use_it(
    spack_environment: Path, count: int, features: list[str]
) -> None:
    use_pvm(spack_environment / "spack.lock", count)
    assert spack_pvm_features() == features
    (system,) = render.reframe_configuration(CHECKOUT / "site-configs" / "infiniband")["systems"]
    for partition in system["partitions"]:
        assert ("pvm" in partition.get("features", [])) == bool(features)


def test_pvm_is_not_offered_without_an_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACK_ENV", raising=False)
    assert spack_pvm_features() == []


def test_each_has_the_hashes_of_what_spack_built_for_it(spack_environment: Path) -> None:
    lock = locks.read_lock(spack_environment / "spack.lock")
    specs = {
        item["name"]: item["extras"]["specs"] for item in spack_environments("infiniband", LAUNCH)
    }
    for item in toolchains_in_lock(lock):
        assert specs[item.name] == {
            "roundtrip-workloads": f"main/{item.root.hash}",
            item.mpi.name: f"{item.mpi.version}/{item.mpi.hash}",
            "boost": f"{item.boost.version}/{item.boost.hash}",
        }


def test_osu_is_offered_once_for_each_mpi_or_how_to_get_it_is_said(spack_environment: Path) -> None:
    lock = locks.read_lock(spack_environment / "spack.lock")
    suites = {item.name: item.suites["osu-micro-benchmarks"] for item in toolchains_in_lock(lock)}
    shutil.rmtree(prefix_of_spec(suites["mpich43-boost186"], lock))
    environs = {item["name"]: item for item in spack_environments("infiniband", LAUNCH)}
    offers = {name for name, item in environs.items() if "osu" in item["features"]}
    assert offers == {"openmpi41-boost186", "openmpi50-boost186"} | {
        f"mvapich{version}-boost186" for version in ("2-23", "40")
    }
    extras = environs["openmpi50-boost186"]["extras"]
    assert ".spack-view/osu-micro-benchmarks-7.5-" in extras["osu_prefix"]
    remedies = {name: item["extras"]["lacks"]["osu"] for name, item in environs.items()}
    assert remedies["mpich43-boost186"] == "spack install osu-micro-benchmarks ^mpich@4.3.2"
    assert remedies["mpich43-boost174"] == "it knows no Boost, mpich43-boost186 is enough"


def test_the_upstream_netpipe_is_the_reference_where_it_is_installed(
    spack_environment: Path,
) -> None:
    place = replace_osu_by_netpipe(spack_environment, "mpich43-boost186")
    environs = spack_environments("infiniband", LAUNCH)
    offers = [item for item in environs if "netpipe-reference" in item["features"]]
    assert [item["extras"]["netpipe_reference"] for item in offers] == [f"{place}/bin/NPmpi"]
    lacks = [item["extras"]["lacks"] for item in environs if item not in offers]
    assert any(item["netpipe-reference"].startswith("spack install netpipe ^") for item in lacks)


def test_what_is_not_installed_is_no_offer(spack_environment: Path) -> None:
    environs = spack_environments("infiniband", LAUNCH)
    assert set(installed_environment_names(environs)) == NAMES
    names = installed_environment_names(environs, excluded_mpis=["mvapich2"])
    assert not any("mvapich2" in name for name in names)
    lock = locks.read_lock(spack_environment / "spack.lock")
    toolchain = next(item for item in toolchains_in_lock(lock) if item.name == "mpich43-boost186")
    shutil.rmtree(prefix_of_spec(toolchain.root, lock))
    assert NAMES - set(installed_environment_names(environs)) == {"mpich43-boost186"}


def test_an_mpi_that_the_site_cannot_start_is_an_error(spack_environment: Path) -> None:
    with pytest.raises(UserError, match=r"does not say how mpich@4\.3\.2 starts ranks"):
        spack_environments("x", {name: start for name, start in LAUNCH.items() if name != "mpich"})


def test_the_one_to_one_check_names_the_odd_environment(spack_environment: Path) -> None:
    lock = locks.read_lock(spack_environment / "spack.lock")
    environs = spack_environments("infiniband", LAUNCH)
    environs[1]["extras"]["spec"] = environs[0]["extras"]["spec"]
    environs[2]["extras"]["spec"] = "f00dfeed"
    environs[3]["extras"].pop("spec")
    findings = check_one_spec_per_environment(lock, environs)
    details = [item.detail for item in findings if item.verdict == "fault"]
    assert any("'openmpi41-boost174' and 'openmpi50-boost174' are both" in d for d in details)
    assert any("is f00dfee, which is no root" in d for d in details)
    assert any(f"'{environs[3]['name']}' names no concrete spec" in d for d in details)
    assert sum(d.startswith("no environment for") for d in details) == 3


def test_nothing_to_run_with_is_said_where_reframe_would_pass(
    spack_environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spack_environments("infiniband", LAUNCH)
    assert capsys.readouterr().err == ""
    shutil.rmtree(spack_environment / ".spack-view")
    spack_environments("infiniband", LAUNCH)
    lock = spack_environment / "spack.lock"
    reason = f"no toolchain of {lock} is installed: `spack install`"
    assert capsys.readouterr().err == f"site 'infiniband' can run no check: {reason}\n"
    monkeypatch.delenv("SPACK_ENV")
    assert spack_environments("infiniband", LAUNCH) == []
    assert "no concretized Spack environment is active" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "runs"),
    [
        *[(word, True) for word in ("-r", "--run", "-Rr", "-vRr", "-rR", "-rnring", "--ru")],
        *[(word, False) for word in ("-R", "-lR", "-nring", "--reruns=2", "--recursive", "ring")],
    ],
)
def test_a_run_without_toolchains_is_refused_however_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, option: str, runs: bool
) -> None:
    monkeypatch.delenv("SPACK_ENV", raising=False)
    monkeypatch.setattr("sys.argv", ["reframe", "-c", "checks", option])
    if runs:
        with pytest.raises(ConfigError, match="site 'infiniband' can run no check"):
            spack_environments("infiniband", LAUNCH)
    else:
        assert spack_environments("infiniband", LAUNCH) == []


@pytest.fixture
def twice(spack_environment: Path) -> locks.SpackLock:
    """The recorded lock file with a second MPICH 4.3.2, over libfabric and patched, and GCC."""
    file = spack_environment / "spack.lock"
    content: dict[str, Any] = json.loads(file.read_text())
    specs = content["concrete_specs"]
    (mpich_hash,) = (key for key, spec in specs.items() if spec["name"] == "mpich")
    gcc = {"name": "gcc", "version": "12.2.0", "parameters": {}, "dependencies": []}
    specs["gcc0000gcc"] = {**specs[mpich_hash], **gcc}
    root_spec = "roundtrip-workloads@main ^boost@1.86.0+mpi+serialization cxxstd=17 ^mpich@4.3"
    (root,) = (item for item in content["roots"] if item["spec"] == root_spec)
    edges = specs[root["hash"]]["dependencies"]
    (boost_hash,) = (edge["hash"] for edge in edges if edge["name"] == "boost")
    gcc_edge = {"hash": "gcc0000gcc", "name": "gcc", "parameters": {"virtuals": ["c", "cxx"]}}
    edges.append(gcc_edge)
    twin_by_hash = {mpich_hash: "ofi0000ofi", boost_hash: "boost00ofi", root["hash"]: "root000ofi"}
    twins = json.dumps({hash_: specs[hash_] for hash_ in twin_by_hash})
    for hash_, twin in twin_by_hash.items():
        twins = twins.replace(hash_, twin)
    specs |= json.loads(twins)
    specs["ofi0000ofi"]["parameters"]["netmod"] = "ofi"
    content["roots"].append({"spec": f"{root_spec} netmod=ofi", "hash": "root000ofi"})
    file.write_text(json.dumps(content))
    return locks.read_lock(file)


def names(lock: locks.SpackLock, label: Sequence[str]) -> set[str]:
    return {item.name for item in toolchains_in_lock(lock, label) if item.boost.version == "1.86.0"}


@pytest.mark.parametrize(
    ("label", "name", "ambiguity"),
    [
        ([], "'mpich43-boost186'", "netmod=ofi instead of ucx"),
        (["patch"], "'mpich43p2-boost186'", "mpich@4.3.2 (mpich43p2) is 2 builds"),
    ],
)
def test_with_a_label_that_says_too_little_a_second_build_is_refused(
    twice: locks.SpackLock, label: list[str], name: str, ambiguity: str
) -> None:
    with pytest.raises(UserError, match=rf"{name} would be two .*`label` in site\.toml"):
        toolchains_in_lock(twice, label)
    (line,) = software.describe_ambiguous_builds(twice, label)
    assert ambiguity in line
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
    twice: locks.SpackLock, label: list[str], mpich: set[str]
) -> None:
    toolchain_names = names(twice, label)
    assert mpich <= toolchain_names
    assert len(toolchains_in_lock(twice, label)) == 16
    assert software.describe_ambiguous_builds(twice, label) == []
    environs = spack_environments("mine", LAUNCH, name_parts=label)
    assert len({item["name"] for item in environs}) == 16
    mpich_environs = [item for item in environs if item["name"] in mpich]
    assert len({item["cxx"] for item in mpich_environs}) == 2
    assert len({item["extras"]["toolchain"] for item in mpich_environs}) == 2


def test_titles_carry_what_the_label_has(twice: locks.SpackLock) -> None:
    titles = {
        item.name: item.title for item in toolchains_in_lock(twice, ["netmod", "ucx", "compiler"])
    }
    title = "MPICH 4.3.2, Boost 1.86.0, netmod ofi, UCX 1.17.0, GCC 12.2.0"
    assert titles["mpich43-ofi-ucx117-boost186-gcc12"] == title


def test_a_part_that_nothing_has_is_refused(twice: locks.SpackLock) -> None:
    with pytest.raises(UserError, match="'ucxx' is neither patch, compiler, a variant of an MPI"):
        toolchains_in_lock(twice, ["ucxx"])
