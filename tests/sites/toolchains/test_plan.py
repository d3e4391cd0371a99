from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites.toolchains import plan
from roundtrip.sites.toolchains.plan import Store, content_key
from roundtrip.sites.toolchains.spec import catalogue

TOOLCHAINS = catalogue().toolchains
INSTALLED = {"openmpi-bin": "4.1.4-3+b1", "mpich": "4.0.2-3+b1"}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "installed_packages", lambda names: dict(INSTALLED))
    monkeypatch.setattr(plan, "compiler_version", lambda: "12.2.0")


def test_plan_says_where_things_come_from() -> None:
    debian = plan.toolchain_plan(TOOLCHAINS["openmpi41-boost181"])
    assert (debian.mpi.version, debian.mpi.origin) == ("4.1.4", "Debian openmpi-bin 4.1.4-3+b1")
    assert debian.from_debian
    wheel = plan.toolchain_plan(TOOLCHAINS["mpich50-boost174"])
    assert wheel.mpi.origin == f"PyPI mpich {wheel.mpi.version}"
    assert wheel.mpi.version.startswith("5.0.")
    assert not wheel.from_debian
    assert not plan.toolchain_plan(TOOLCHAINS["mpich40-boost181"]).from_debian


def test_an_unpacked_mpi_is_planned_by_its_packages_and_what_its_wrappers_define() -> None:
    toolchain = TOOLCHAINS["smpi-boost181"]
    mpi_plan = plan.toolchain_plan(toolchain).mpi
    assert (mpi_plan.version, mpi_plan.mpi.pin) == ("3.32", None)
    assert mpi_plan.origin == "Debian libsimgrid-dev 3.32, unpacked"
    partial_mpi = toolchain.mpi.model_copy(update={"unpacked": toolchain.mpi.unpacked[:-1]})
    kind = toolchain.mpi.kind.model_copy(update={"definitions": ()})
    bare_mpi = toolchain.mpi.model_copy(update={"kind": kind})
    assert (
        len({mpi_plan.key, plan.resolve_mpi(partial_mpi).key, plan.resolve_mpi(bare_mpi).key}) == 3
    )


def test_keys_differ_and_repeat() -> None:
    keys = [plan.toolchain_plan(toolchain).key for toolchain in TOOLCHAINS.values()]
    assert len(set(keys)) == len(TOOLCHAINS)
    assert keys == [plan.toolchain_plan(toolchain).key for toolchain in TOOLCHAINS.values()]


def test_key_follows_mpi_compiler_flags_and_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = TOOLCHAINS["mpich40-boost181"]
    keys = {plan.toolchain_plan(toolchain).key}
    monkeypatch.setitem(INSTALLED, "mpich", "4.0.2-4")
    keys.add(plan.toolchain_plan(toolchain).key)
    monkeypatch.setattr(plan, "compiler_version", lambda: "13.1.0")
    keys.add(plan.toolchain_plan(toolchain).key)
    monkeypatch.setattr(plan, "FLAGS", ("-O3",))
    keys.add(plan.toolchain_plan(toolchain).key)
    monkeypatch.setattr(plan, "RECIPE", plan.RECIPE + 1)
    keys.add(plan.toolchain_plan(toolchain).key)
    boost = replace(toolchain.boost, series="1.82")
    keys.add(plan.toolchain_plan(replace(toolchain, boost=boost)).key)
    assert len(keys) == 6


def test_keys_follow_the_content_of_a_tar_file_of_boost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain, tar_file = TOOLCHAINS["mpich40-boost181"], tmp_path / "boost.tar.gz"

    def keys() -> tuple[str, str, str]:
        boost = toolchain.boost
        headers, sources = plan.boost_key(boost, "headers"), plan.boost_key(boost, "sources")
        return plan.toolchain_plan(toolchain).key, headers, sources

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
    inputs = {"recipe": plan.RECIPE, "unit": "headers", "boost": boost.version}
    assert plan.boost_key(boost, "headers") == content_key(inputs)


def test_another_series_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(INSTALLED, "mpich", "4.2.0-5")
    with pytest.raises(UserError, match=r"mpich40 needs version 4\.0, not Debian mpich 4\.2\.0-5"):
        plan.toolchain_plan(TOOLCHAINS["mpich40-boost181"])


def test_a_missing_package_names_set_up_and_spack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(INSTALLED, "mpich")
    with pytest.raises(UserError, match=r"needs package mpich: run `make setup`, or .*Spack"):
        plan.toolchain_plan(TOOLCHAINS["mpich40-boost174"])


def test_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    good, stale = TOOLCHAINS["mpich40-boost181"], TOOLCHAINS["openmpi41-boost181"]
    for toolchain in (good, stale):
        key = plan.toolchain_plan(toolchain).key
        store.ensure(key, lambda place: None)
        store.link(toolchain.name, key)
    monkeypatch.setitem(INSTALLED, "openmpi-bin", "4.1.5-1")
    absent = TOOLCHAINS["mpich50-boost174"]
    assert plan.states([good, stale, absent], store) == {
        good.name: "good",
        stale.name: "stale",
        absent.name: "not built",
    }


HOLDER = """
import sys
from pathlib import Path
from roundtrip.sites.toolchains.plan import Store
with Store(Path(sys.argv[1])).hold(lambda: None):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_key_is_canonical() -> None:
    assert content_key({"a": 1, "b": [2]}) == content_key({"b": [2], "a": 1})
    assert content_key({"a": 1}) != content_key({"a": "1"})


def test_a_unit_is_made_once(tmp_path: Path) -> None:
    store, places = Store(tmp_path), []

    def make(place: Path) -> None:
        (place / "content").write_text("x")
        places.append(place)

    first, second = store.ensure("k", make), store.ensure("k", make)
    assert first == second == places[0]
    assert len(places) == 1
    assert store.is_complete("k")


def test_a_failed_unit_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fail(place: Path) -> None:
        (place / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.ensure("k", fail)
    assert not store.place("k").exists()


def test_leftovers_of_a_killed_build_are_removed_and_complete_units_stay(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.ensure("done", lambda place: None)
    (store.place("killed") / "lib").mkdir(parents=True)
    (tmp_path / "work" / "deb").mkdir(parents=True)
    assert not store.is_complete("killed")
    with store.hold(lambda: None):
        assert not store.place("killed").exists()
        assert not (tmp_path / "work").exists()
    assert store.is_complete("done")


def test_removal_never_follows_a_link_out_of_the_store(tmp_path: Path) -> None:
    system = tmp_path / "system"
    system.mkdir()
    (system / "precious").touch()
    store = Store(tmp_path / "store")
    store.place("killed").mkdir(parents=True)
    (store.place("killed") / "lib").symlink_to(system)
    with store.hold(lambda: None):
        pass
    assert not store.place("killed").exists()
    assert (system / "precious").exists()


def test_links(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.symlink_key("name") is None
    for key in ("one", "two"):
        store.ensure(key, lambda place: None)
        store.link("name", key)
        assert store.symlink_key("name") == key
        assert (tmp_path / "name").resolve() == store.place(key)
    (store.place("two") / ".complete").unlink()
    assert store.symlink_key("name") is None


def test_a_second_process_waits(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    statuses = []

    def waiting() -> None:
        statuses.append(holder.poll())
        holder.communicate("go\n")

    with Store(tmp_path).hold(waiting):
        assert statuses == [None]  # it was still held when we began to wait
        assert holder.returncode == 0
