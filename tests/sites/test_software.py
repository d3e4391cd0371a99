"""The matrix of the root spack.yaml, laid against the recorded lock file."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.programs import script
from support.software import LOCK
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites import software
from roundtrip.sites.site import Site

CHECKOUT = Path(__file__).parents[2]
INFINIBAND = CHECKOUT / "site-configs" / "infiniband" / "spack"


def wanted() -> list[str]:
    return software.expand_matrix(CHECKOUT / "spack.yaml", software.definitions(INFINIBAND))


def test_the_matrix_is_every_mpi_with_every_boost_and_suite() -> None:
    roots = wanted()
    assert len(roots) == 5 * 3 + 5 * 2 + 1
    assert len(set(roots)) == len(roots)
    assert sum("^boost@1.86.0" in root for root in roots) == 5


def test_the_recorded_lock_is_that_matrix() -> None:
    assert software.mismatches(locks.read(LOCK), wanted()) == []


def test_a_root_too_few_or_too_many_is_named() -> None:
    lock = locks.read(LOCK)
    short_lock = replace(lock, roots=lock.roots[1:])
    assert software.mismatches(short_lock, wanted()) == [
        "not in the lock file: " + software.canonical_spec(lock.roots[0].spec)
    ]
    excess = software.mismatches(lock, wanted()[:-1])
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
        software.require_ready(Site(site, CHECKOUT))
    return str(error.value)


def test_no_spack(bare: Path) -> None:
    assert "there is no `spack` in PATH or SPACK_ROOT: 1.1 or newer is needed" in refusal()


def test_a_spack_that_is_too_old(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(bare / "bin" / "spack", "echo 0.23.1")
    monkeypatch.setenv("SPACK_ROOT", str(bare))
    assert "is Spack 0.23.1: 1.1 or newer is needed" in refusal()


def test_no_active_environment(bare: Path) -> None:
    script(bare / "spack", "echo 1.1.0")
    assert "needs an active Spack environment: run `spack env activate .`" in refusal()


def test_an_environment_that_is_not_concretized(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    assert f"{tmp_path} is not concretized: run `spack concretize`" in refusal()


def test_an_environment_that_is_not_installed(active: Path) -> None:
    for folder in (active / ".spack-view").iterdir():
        shutil.rmtree(folder)
    assert "none of its toolchains is installed: run `spack install`" in refusal()


def test_a_lock_file_of_another_site_or_spack_yaml(active: Path) -> None:
    message = refusal("spack")
    assert "does not match spack.yaml on site 'spack': " in message
    assert "`. site-configs/activate spack`, then `spack concretize -f`" in message
    lock = active / "spack.lock"
    content = json.loads(lock.read_text())
    lock.write_text(json.dumps({**content, "roots": content["roots"][1:]}))
    assert "not in the lock file: roundtrip-workloads @main" in refusal()


def test_all_installed_is_ready(active: Path) -> None:
    software.require_ready(Site("infiniband", CHECKOUT))


def test_other_sites_need_no_spack(bare: Path) -> None:
    software.require_ready(Site("local", CHECKOUT))


def test_nothing_is_launched(bare: Path) -> None:
    result = CliRunner().invoke(app, ["run", "boost-netpipe", "--site", "infiniband"])
    assert isinstance(result.exception, UserError)
    assert os.environ.get("SPACK_ENV") is None


def test_site_lock_refuses_a_stale_one(active: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTRIP_SITE", "spack")
    result = CliRunner().invoke(app, ["site", "lock"])
    assert isinstance(result.exception, UserError)
    assert "does not match spack.yaml on site 'spack'" in str(result.exception)
