"""Two builds of one series in one environment, told apart by what the site asks for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites import software
from roundtrip.sites.toolchains import environments, toolchains

RECORDED = Path(__file__).parent / "data" / "environment" / "spack.lock"
LAUNCH = {name: ("srun", ["--mpi=pmi2"]) for name in ("openmpi", "mpich", "mvapich", "mvapich2")}


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
    (line,) = software.split(twice, [])
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
def test_a_label_tells_two_builds_of_one_series_apart(
    twice: locks.Lock, label: list[str], mpich: set[str]
) -> None:
    found = names(twice, label)
    assert mpich <= found
    assert len(toolchains(twice, label)) == 16
    assert software.split(twice, label) == []
    listed = environments("mine", LAUNCH, label=label)
    assert len({item["name"] for item in listed}) == 16
    both = [item for item in listed if item["name"] in mpich]
    assert len({item["cxx"] for item in both}) == 2
    assert len({item["extras"]["toolchain"] for item in both}) == 2


def test_titles_carry_what_the_label_has(twice: locks.Lock) -> None:
    found = {item.name: item.title for item in toolchains(twice, ["netmod", "ucx", "compiler"])}
    title = "MPICH 4.3.2, Boost 1.86.0, netmod ofi, UCX 1.17.0, GCC 12.2.0"
    assert found["mpich43-ofi-ucx117-boost186-gcc12"] == title


def test_a_label_that_tells_too_little_still_refuses(twice: locks.Lock) -> None:
    with pytest.raises(UserError, match="would be two concrete specs"):
        toolchains(twice, ["patch"])
    assert "mpich@4.3.2 (mpich43p2) is 2 builds" in software.split(twice, ["patch"])[0]


def test_a_part_that_nothing_has_is_refused(twice: locks.Lock) -> None:
    with pytest.raises(UserError, match="'ucxx' is neither patch, compiler, a variant of an MPI"):
        toolchains(twice, ["ucxx"])
