from dataclasses import replace
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites.toolchains import spec
from roundtrip.sites.toolchains.spec import (
    boost_part_key,
    content_key,
    read_catalogue,
    resolve_mpi,
    toolchain_plan,
)
from roundtrip.sites.toolchains.store import ToolchainStore, toolchain_states

TOOLCHAINS = read_catalogue().toolchains
INSTALLED = {"openmpi-bin": "4.1.4-3+b1", "mpich": "4.0.2-3+b1"}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec.machine, "installed_packages", lambda names: dict(INSTALLED))
    monkeypatch.setattr(spec, "compiler_version", lambda: "12.2.0")


def test_plan_says_where_things_come_from() -> None:
    debian = toolchain_plan(TOOLCHAINS["openmpi41-boost181"])
    assert (debian.mpi.version, debian.mpi.origin) == ("4.1.4", "Debian openmpi-bin 4.1.4-3+b1")
    assert debian.uses_debian_boost
    wheel = toolchain_plan(TOOLCHAINS["mpich50-boost174"])
    assert wheel.mpi.origin == f"PyPI mpich {wheel.mpi.version}"
    assert wheel.mpi.version.startswith("5.0.")
    assert not wheel.uses_debian_boost
    assert not toolchain_plan(TOOLCHAINS["mpich40-boost181"]).uses_debian_boost


def test_an_unpacked_mpi_is_planned_by_its_packages_and_what_its_wrappers_define() -> None:
    toolchain = TOOLCHAINS["smpi-boost181"]
    mpi_plan = toolchain_plan(toolchain).mpi
    assert (mpi_plan.version, mpi_plan.mpi.pip_requirement) == ("3.32", None)
    assert mpi_plan.origin == "Debian libsimgrid-dev 3.32, unpacked"
    partial_mpi = toolchain.mpi.model_copy(update={"unpacked": toolchain.mpi.unpacked[:-1]})
    family_table = toolchain.mpi.family_table.model_copy(update={"definitions": ()})
    bare_mpi = toolchain.mpi.model_copy(update={"family_table": family_table})
    assert len({mpi_plan.key, resolve_mpi(partial_mpi).key, resolve_mpi(bare_mpi).key}) == 3


def test_keys_differ_and_repeat() -> None:
    keys = [toolchain_plan(toolchain).key for toolchain in TOOLCHAINS.values()]
    assert len(set(keys)) == len(TOOLCHAINS)
    assert keys == [toolchain_plan(toolchain).key for toolchain in TOOLCHAINS.values()]


def test_key_follows_mpi_compiler_flags_and_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = TOOLCHAINS["mpich40-boost181"]
    keys = {toolchain_plan(toolchain).key}
    monkeypatch.setitem(INSTALLED, "mpich", "4.0.2-4")
    keys.add(toolchain_plan(toolchain).key)
    monkeypatch.setattr(spec, "compiler_version", lambda: "13.1.0")
    keys.add(toolchain_plan(toolchain).key)
    monkeypatch.setattr(spec, "BOOST_COMPILE_FLAGS", ("-O3",))
    keys.add(toolchain_plan(toolchain).key)
    monkeypatch.setattr(spec, "RECIPE_VERSION", spec.RECIPE_VERSION + 1)
    keys.add(toolchain_plan(toolchain).key)
    boost = replace(toolchain.boost, series="1.82")
    keys.add(toolchain_plan(replace(toolchain, boost=boost)).key)
    assert len(keys) == 6


def test_keys_follow_the_content_of_a_tar_file_of_boost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain, tar_file = TOOLCHAINS["mpich40-boost181"], tmp_path / "boost.tar.gz"

    def keys() -> tuple[str, str, str]:
        boost = toolchain.boost
        headers, sources = boost_part_key(boost, "headers"), boost_part_key(boost, "sources")
        return toolchain_plan(toolchain).key, headers, sources

    monkeypatch.delenv("ROUNDTRIP_BOOST", raising=False)
    all_keys = {*keys()}
    monkeypatch.setenv("ROUNDTRIP_BOOST", str(tar_file))
    with pytest.raises(UserError, match="boost.tar.gz: "):
        keys()
    for content in ("1.88", "wrong"):
        tar_file.write_text(content)
        assert keys() == keys()
        all_keys |= {*keys()}
    assert len(all_keys) == 9


def test_the_keys_of_builds_without_a_tar_file_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROUNDTRIP_BOOST", raising=False)
    boost = TOOLCHAINS["mpich40-boost181"].boost
    inputs = {"recipe": spec.RECIPE_VERSION, "unit": "headers", "boost": boost.version}
    assert boost_part_key(boost, "headers") == content_key(inputs)


def test_another_series_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTALLED, "mpich", "4.2.0-5")
    with pytest.raises(UserError, match=r"mpich40 needs version 4\.0, not Debian mpich 4\.2\.0-5"):
        toolchain_plan(TOOLCHAINS["mpich40-boost181"])


def test_a_missing_package_names_set_up_and_spack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(INSTALLED, "mpich")
    with pytest.raises(UserError, match=r"needs package mpich: run `make setup`, or .*Spack"):
        toolchain_plan(TOOLCHAINS["mpich40-boost174"])


def test_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ToolchainStore(tmp_path)
    good, stale = TOOLCHAINS["mpich40-boost181"], TOOLCHAINS["openmpi41-boost181"]
    for toolchain in (good, stale):
        key = toolchain_plan(toolchain).key
        store.ensure_unit(key, lambda place: None)
        store.link(toolchain.name, key)
    monkeypatch.setitem(INSTALLED, "openmpi-bin", "4.1.5-1")
    absent = TOOLCHAINS["mpich50-boost174"]
    assert toolchain_states([good, stale, absent], store) == {
        good.name: "good",
        stale.name: "stale",
        absent.name: "not built",
    }


def test_key_is_canonical() -> None:
    assert content_key({"a": 1, "b": [2]}) == content_key({"b": [2], "a": 1})
    assert content_key({"a": 1}) != content_key({"a": "1"})
