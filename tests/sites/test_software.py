"""The recorded lock file, copies of it with a fault, and the matrix of spack.yaml."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.programs import CHECKOUT, write_script
from support.software import LOCK_FILE
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites import software
from roundtrip.sites.lock import SpackLock
from roundtrip.sites.site import Site

Change = Callable[[dict[str, Any]], None]


def changed(tmp_path: Path, change: Change) -> SpackLock:
    """The recorded lock file with `change` made to its JSON."""
    content = json.loads(LOCK_FILE.read_text())
    change(content)
    file = tmp_path / "spack.lock"
    file.write_text(json.dumps(content))
    return locks.read_lock(file)


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
    lock = locks.read_lock(LOCK_FILE)
    labels = {spec.name_version for spec in lock.mpi_by_hash.values()}
    openmpis = {"openmpi@4.1.8", "openmpi@5.0.8"}
    assert labels == {"mpich@4.3.2", "mvapich2@2.3.7-1", "mvapich@4.0", *openmpis}
    assert len(lock.mpi_by_hash) == 5
    assert len(lock.roots) == 26
    assert locks.describe_extra_builds(lock) == []
    assert locks.describe_mixed_targets(lock) == []


def test_an_odd_build_is_named_with_what_makes_it_odd(tmp_path: Path) -> None:
    (line,) = locks.describe_extra_builds(changed(tmp_path, drift))
    assert "mpich@4.3.2 is 2 builds" in line
    assert "the odd one odd0000 in 1: osu-micro-benchmarks@=7.5 ^mpich@4.3" in line
    assert "device=ch3:sock instead of ch4" in line
    assert "datatype-engine=dataloop instead of auto" in line


def test_an_odd_target_is_named(tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        spec = content["concrete_specs"][by_name(content, "mvapich2")]
        spec["arch"]["target"] = {"name": "icelake"}

    (line,) = locks.describe_mixed_targets(changed(tmp_path, change))
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
        locks.read_lock(file)
    assert error.value.file == str(file)


def test_no_lock_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="spack concretize"):
        locks.read_lock(tmp_path / "spack.lock")


INFINIBAND = CHECKOUT / "site-configs" / "infiniband" / "spack"


def wanted() -> list[str]:
    return software.expand_matrix(CHECKOUT / "spack.yaml", software.read_definitions(INFINIBAND))


def test_a_root_too_few_or_too_many_is_named() -> None:
    lock = locks.read_lock(LOCK_FILE)
    short_lock = replace(lock, roots=lock.roots[1:])
    assert software.describe_root_mismatches(short_lock, wanted()) == [
        "not in the lock file: " + software.canonical_spec(lock.roots[0].spec)
    ]
    excess = software.describe_root_mismatches(lock, wanted()[:-1])
    assert excess == ["in the lock file and not asked for: pvm @3.4.6"]


@pytest.mark.parametrize(
    ("spelling", "spack_spelling"),
    [
        ("a@1 +x ~y k=b,a", "a@1+x~y k=a,b"),
        ("a@main ^b@=1.74.0 +x ^c@=4", "a@main ^b@=1.74.0+x ^c@=4"),
        ("a@1 ^b@2 +x ^c", "a@1 ^c ^b@2+x"),
        ("npb@3.4.1 names=lu,cg classes=S", "npb@3.4.1 classes=S names=cg,lu"),
    ],
)
def test_two_spellings_of_one_spec_are_one(spelling: str, spack_spelling: str) -> None:
    assert software.canonical_spec(spelling) == software.canonical_spec(spack_spelling)


@pytest.mark.parametrize("other", ["a@1 ~x", "a@2 +x", "b@1 +x", "a@1 +x ^c"])
def test_different_specs_stay_different(other: str) -> None:
    assert software.canonical_spec("a@1 +x") != software.canonical_spec(other)


def test_a_name_the_site_does_not_define_is_an_error() -> None:
    with pytest.raises(UserError, match="does not define 'boosts'"):
        software.expand_matrix(CHECKOUT / "spack.yaml", {"mpis": ["mpich"]})


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No Spack and no active environment; a folder in PATH to put one into."""
    tools = tmp_path / "tools"
    tools.mkdir()
    python = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{tools}:{python}:/usr/bin:/bin")
    for variable in ("SPACK_ENV", "SPACK_ROOT", "ROUNDTRIP_SITE"):
        monkeypatch.delenv(variable, raising=False)
    return tools


def refusal(site: str = "infiniband") -> str:
    with pytest.raises(UserError) as error:
        software.require_ready_site(Site(site, CHECKOUT))
    return str(error.value)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "there is no `spack` in PATH or SPACK_ROOT: 1.1 or newer is needed"),
        ("0.23.1", "is Spack 0.23.1: 1.1 or newer is needed"),
        ("1.1.0", "needs an active Spack environment: run `spack env activate .`"),
    ],
)
def test_what_lacks_before_a_launch(
    bare: Path, monkeypatch: pytest.MonkeyPatch, version: str | None, message: str
) -> None:
    if version:
        write_script(bare / "bin" / "spack", f"echo {version}")
        monkeypatch.setenv("SPACK_ROOT", str(bare))
    assert message in refusal()


def test_an_environment_that_is_not_concretized(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    assert f"{tmp_path} is not concretized: run `spack concretize`" in refusal()


def test_an_environment_that_is_not_installed(spack_environment: Path) -> None:
    for folder in (spack_environment / ".spack-view").iterdir():
        shutil.rmtree(folder)
    assert "none of its toolchains is installed: run `spack install`" in refusal()


def test_a_lock_file_of_another_site_or_spack_yaml(spack_environment: Path) -> None:
    message = refusal("spack")
    assert "does not match spack.yaml on site 'spack': " in message
    assert "`. site-configs/activate spack`, then `spack concretize -f`" in message
    lock = spack_environment / "spack.lock"
    content = json.loads(lock.read_text())
    lock.write_text(json.dumps({**content, "roots": content["roots"][1:]}))
    assert "not in the lock file: roundtrip-workloads @main" in refusal()


def test_all_installed_is_ready(spack_environment: Path) -> None:
    software.require_ready_site(Site("infiniband", CHECKOUT))


def test_other_sites_need_no_spack(bare: Path) -> None:
    software.require_ready_site(Site("local", CHECKOUT))


def test_nothing_is_launched(bare: Path) -> None:
    result = CliRunner().invoke(app, ["run", "boost-netpipe", "--site", "infiniband"])
    assert isinstance(result.exception, UserError)
    assert os.environ.get("SPACK_ENV") is None


def test_site_lock_refuses_a_stale_one(
    spack_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_SITE", "spack")
    result = CliRunner().invoke(app, ["site", "lock"])
    assert isinstance(result.exception, UserError)
    assert "does not match spack.yaml on site 'spack'" in str(result.exception)
