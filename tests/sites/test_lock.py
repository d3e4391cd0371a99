"""The recorded lock file is whole; a copy with one odd build is distinguished."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.software import LOCK

from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites.lock import Lock

Change = Callable[[dict[str, Any]], None]


def changed(tmp_path: Path, change: Change) -> Lock:
    """The recorded lock file with `change` made to its JSON."""
    content = json.loads(LOCK.read_text())
    change(content)
    file = tmp_path / "spack.lock"
    file.write_text(json.dumps(content))
    return locks.read(file)


def by_name(content: dict[str, Any], name: str) -> str:
    return next(key for key, spec in content["concrete_specs"].items() if spec["name"] == name)


def root(content: dict[str, Any], words: str) -> str:
    return str(next(r["hash"] for r in content["roots"] if words in r["spec"]))


def drift(content: dict[str, Any]) -> None:
    """What preferences did: MPICH of one suite becomes another build under the same label."""
    mpich_hash = by_name(content, "mpich")
    odd_spec = json.loads(json.dumps(content["concrete_specs"][mpich_hash]))
    odd_spec["parameters"] |= {"device": "ch3:sock", "datatype-engine": "dataloop"}
    content["concrete_specs"]["odd0000"] = odd_spec
    suite = content["concrete_specs"][root(content, "osu-micro-benchmarks@=7.5 ^mpich")]
    for edge in suite["dependencies"]:
        if edge["hash"] == mpich_hash:
            edge["hash"] = "odd0000"


def test_the_recorded_lock_has_one_build_for_each_mpi_and_one_target() -> None:
    lock = locks.read(LOCK)
    labels = {spec.label for spec in lock.mpis.values()}
    openmpis = {"openmpi@4.1.8", "openmpi@5.0.8"}
    assert labels == {"mpich@4.3.2", "mvapich2@2.3.7-1", "mvapich@4.0", *openmpis}
    assert len(lock.mpis) == 5
    assert len(lock.roots) == 26
    assert locks.split_builds(lock) == []
    assert locks.split_targets(lock) == []


def test_every_fabric_is_the_required_one() -> None:
    lock = locks.read(LOCK)
    parameters = {spec.name: spec.parameters for spec in lock.mpis.values()}
    for spec in lock.mpis.values():
        if spec.name == "openmpi":
            assert spec.parameters["fabrics"] == ["ucx"]
            assert spec.parameters["schedulers"] == ["slurm"]
    mpich = parameters["mpich"]
    assert (mpich["device"], mpich["netmod"], mpich["pmi"]) == ("ch4", "ucx", "pmi2")
    assert parameters["mvapich"]["netmod"] == "ucx"
    assert parameters["mvapich2"]["fabrics"] == "mrail"
    assert {spec.target for spec in lock.mpis.values()} == {"x86_64_v3"}


def test_an_odd_build_is_named_with_what_makes_it_odd(tmp_path: Path) -> None:
    (line,) = locks.split_builds(changed(tmp_path, drift))
    assert "mpich@4.3.2 is 2 builds" in line
    assert "the odd one odd0000 in 1: osu-micro-benchmarks@=7.5 ^mpich@4.3" in line
    assert "device=ch3:sock instead of ch4" in line
    assert "datatype-engine=dataloop instead of auto" in line


def test_an_odd_target_is_named(tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        spec = content["concrete_specs"][by_name(content, "mvapich2")]
        spec["arch"]["target"] = {"name": "icelake"}

    (line,) = locks.split_targets(changed(tmp_path, change))
    assert "the odd one: mvapich2@2.3.7-1 for icelake" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON: nested more than"),
        ("[]", "not a Spack lock file"),
        ('{"roots": []}', "not a Spack lock file"),
        ('{"roots": [{"spec": "a", "hash": "abc"}], "concrete_specs": {}}', "truncated"),
    ],
)
def test_a_broken_lock_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "spack.lock"
    file.write_text(text)
    with pytest.raises(UserError, match=message) as error:
        locks.read(file)
    assert error.value.file == str(file)


def test_no_lock_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="spack concretize"):
        locks.read(tmp_path / "spack.lock")
