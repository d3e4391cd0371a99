"""Toolchains that `roundtrip toolchains` built, as ReFrame sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reframe.core.exceptions import ConfigError

from roundtrip.sites import render
from roundtrip.sites.toolchains.spec import catalogue


def environment(name: str) -> dict[str, Any]:
    known = catalogue()
    toolchain, boost = known.toolchains[name], known.boosts["boost181"]
    return render.prebuilt_environment("local", "x", toolchain, {}, {}, boost)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ROUNDTRIP_NPB", "ROUNDTRIP_OSU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path))
    return tmp_path


def test_suites_are_offered_where_somebody_built_them(store: Path) -> None:
    environ = environment("openmpi41-boost181")
    assert environ["features"] == ["mpi", "boost"]
    assert environ["extras"]["lacks"]["npb-upstream"] == f"build NPB 3.4 into {store}/npb/openmpi41"
    (store / "npb" / "openmpi41").mkdir(parents=True)
    suite_environ = environment("openmpi41-boost181")
    assert suite_environ["features"] == ["mpi", "boost", "npb-upstream"]
    other_environ = environment("openmpi41-boost174")
    assert other_environ["features"] == ["mpi", "boost"]
    assert "openmpi41-boost181 is enough" in other_environ["extras"]["lacks"]["npb-upstream"]


@pytest.mark.parametrize("name", ["smpi-boost174", "smpi-boost181"])
def test_a_simulator_says_so(store: Path, name: str) -> None:
    environ = environment(name)
    assert environ["features"] == ["mpi", "boost", "simulated"]
    assert "simulated" not in environment("openmpi41-boost181")["features"]


def test_a_simulator_says_how_others_programs_are_built_for_it_and_offers_them(store: Path) -> None:
    smpi_remedy = environment("smpi-boost181")["extras"]["lacks"]["osu"]
    assert smpi_remedy.startswith("build it in its source: LD=ld SMPI_PRETEND_CC=1 ./configure CC=")
    assert smpi_remedy.endswith(f"--prefix={store}/osu/smpi && make -k install")
    openmpi_remedy = environment("openmpi41-boost181")["extras"]["lacks"]["osu"]
    assert openmpi_remedy.startswith("build it in its source: ./configure CC=")
    (store / "osu" / "smpi").mkdir(parents=True)
    assert "osu" in environment("smpi-boost181")["features"]


def test_reframe_does_not_run_where_nothing_is_built(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environs = [environment("openmpi41-boost181")]
    assert render.built_names(environs) == []
    assert capsys.readouterr().err == (
        f"site 'local' can run no check: no toolchain in {store}: `make setup`\n"
    )
    monkeypatch.setattr("sys.argv", ["reframe", "-c", "checks", "--run"])
    with pytest.raises(ConfigError, match="can run no check"):
        render.built_names(environs)
    (store / "openmpi41-boost181").mkdir()
    (store / "openmpi41-boost181" / "toolchain.json").write_text("{}")
    assert render.built_names(environs) == ["x"]
