from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.toolchains import plan as plans
from roundtrip.toolchains.spec import catalogue
from roundtrip.toolchains.store import Store

TOOLCHAINS = catalogue().toolchains
INSTALLED = {"openmpi-bin": "4.1.4-3+b1", "mpich": "4.0.2-3+b1"}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "installed", lambda names: dict(INSTALLED))
    monkeypatch.setattr(plans, "compiler_version", lambda: "12.2.0")


@pytest.mark.parametrize(
    ("debian", "upstream"),
    [
        ("4.1.4-3+b1", "4.1.4"),
        ("1:2.0+ds1-1", "2.0"),
        ("1.74.0+ds1-21", "1.74.0"),
        ("5.0~rc1", "5.0"),
    ],
)
def test_upstream_version(debian: str, upstream: str) -> None:
    assert plans.upstream(debian) == upstream


def test_plan_says_where_things_come_from() -> None:
    debian = plans.plan(TOOLCHAINS["openmpi41-boost181"])
    assert (debian.mpi.version, debian.mpi.origin) == ("4.1.4", "Debian openmpi-bin 4.1.4-3+b1")
    assert debian.from_debian
    wheel = plans.plan(TOOLCHAINS["mpich50-boost174"])
    assert wheel.mpi.origin == f"PyPI mpich {wheel.mpi.version}"
    assert wheel.mpi.version.startswith("5.0.")
    assert not wheel.from_debian
    assert not plans.plan(TOOLCHAINS["mpich40-boost181"]).from_debian


def test_an_unpacked_mpi_is_planned_by_its_packages_and_what_its_wrappers_define() -> None:
    made = TOOLCHAINS["smpi-boost181"]
    planned = plans.plan(made).mpi
    assert (planned.version, planned.pin) == ("3.32", None)
    assert planned.origin == "Debian libsimgrid-dev 3.32, unpacked"
    fewer = replace(made.mpi, unpacked=made.mpi.unpacked[:-1])
    bare = replace(made.mpi, of_family=made.mpi.of_family.model_copy(update={"definitions": ()}))
    assert len({planned.key, plans.mpi_plan(fewer).key, plans.mpi_plan(bare).key}) == 3


def test_keys_differ_and_repeat() -> None:
    keys = [plans.plan(toolchain).key for toolchain in TOOLCHAINS.values()]
    assert len(set(keys)) == 10
    assert keys == [plans.plan(toolchain).key for toolchain in TOOLCHAINS.values()]


def test_key_follows_mpi_compiler_flags_and_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = TOOLCHAINS["mpich40-boost181"]
    seen = {plans.plan(toolchain).key}
    monkeypatch.setitem(INSTALLED, "mpich", "4.0.2-4")
    seen.add(plans.plan(toolchain).key)
    monkeypatch.setattr(plans, "compiler_version", lambda: "13.1.0")
    seen.add(plans.plan(toolchain).key)
    monkeypatch.setattr(plans, "FLAGS", ("-O3",))
    seen.add(plans.plan(toolchain).key)
    monkeypatch.setattr(plans, "RECIPE", plans.RECIPE + 1)
    seen.add(plans.plan(toolchain).key)
    newer = replace(toolchain.boost, series="1.82")
    seen.add(plans.plan(replace(toolchain, boost=newer)).key)
    assert len(seen) == 6


def test_another_series_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTALLED, "mpich", "4.2.0-5")
    with pytest.raises(UserError, match=r"mpich40 needs version 4\.0, not Debian mpich 4\.2\.0-5"):
        plans.plan(TOOLCHAINS["mpich40-boost181"])


def test_missing_package_names_the_set_up_and_the_spack_route(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(INSTALLED, "mpich")
    with pytest.raises(
        UserError, match=r"needs Debian package mpich: run `make setup`, or .*Spack"
    ):
        plans.plan(TOOLCHAINS["mpich40-boost174"])


def test_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    good, stale = TOOLCHAINS["mpich40-boost181"], TOOLCHAINS["openmpi41-boost181"]
    for toolchain in (good, stale):
        key = plans.plan(toolchain).key
        store.ensure(key, lambda place: None)
        store.link(toolchain.name, key)
    monkeypatch.setitem(INSTALLED, "openmpi-bin", "4.1.5-1")
    absent = TOOLCHAINS["mpich50-boost174"]
    assert plans.states([good, stale, absent], store) == {
        good.name: "good",
        stale.name: "stale",
        absent.name: "not built",
    }
