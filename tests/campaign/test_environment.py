"""What a run records of machine and software; a resumed run overwrites nothing of it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roundtrip.campaign import environment
from roundtrip.campaign.matrix import ExpectedCase, Matrix
from roundtrip.host import facts
from roundtrip.sites.site import Case

PLAN = Matrix((ExpectedCase(Case("NetPIPE", (), "12345678", "s", "p", "gcc"), "f.py", ()),), ())


def test_a_resumed_run_records_what_differs_beside_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = {"cpu": {"logical": 2}}
    monkeypatch.setattr(facts, "snapshot", lambda: snapshot)
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    (tmp_path / "spack.lock").write_text("{}")
    (tmp_path / "toolchain.json").write_text('{"mpi": "4.1.4"}')
    extras = {"prefix": str(tmp_path)}
    site: Any = SimpleNamespace(
        system={"name": "s"},
        toolchains={"gcc": {"extras": extras}, "other": {}},
        partitions={},
        folder=tmp_path,
    )
    folder = tmp_path / "env"
    environment.record_environment(site, PLAN, folder)
    first_files = {file.name: file.read_text() for file in folder.iterdir()}
    assert first_files.keys() == {
        *("host.json", "toolchains.json", "tools.json", "site-config.json", "spack.lock")
    }
    assert json.loads(first_files["toolchains.json"]) == {
        "gcc": {"reframe": {"extras": extras}, "installed": {"mpi": "4.1.4"}}
    }
    for cores in (4, 8):
        snapshot["cpu"]["logical"] = cores
        environment.record_environment(site, PLAN, folder)
    files = {file.name: file.read_text() for file in folder.iterdir()}
    assert {name: files.pop(name) for name in first_files} == first_files
    assert [json.loads(files[f"host.json.resumed-{n}"])["cpu"]["logical"] for n in (1, 2)] == [4, 8]
    assert len(files) == 2


def test_what_the_user_tunes_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "snapshot", lambda: {})
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OMPI_MCA_pml", "UCX_TLS", "FI_PROVIDER", "PSM2_DEVICES"):
        monkeypatch.setenv(name, "mine")
    (tmp_path / "environment").write_text("export UCX_TLS=rc\n")
    site: Any = SimpleNamespace(
        system={"name": "s", "env_vars": [["OMPI_MCA_pml", "ob1"]]},
        toolchains={"gcc": {"env_vars": {"PSM2_DEVICES": "shm"}}},
        partitions={},
        folder=tmp_path,
    )
    environment.record_environment(site, PLAN, tmp_path / "env")
    record = json.loads((tmp_path / "env" / "tuning.json").read_text())
    assert record == {"variables": [["FI_PROVIDER", "mine"]]}
