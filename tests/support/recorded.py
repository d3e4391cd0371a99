"""The recorded Spack environment with its folders in place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from roundtrip.sites import lock as locks
from roundtrip.sites import programming_environments
from roundtrip.studies.osu.derived import BENCHMARKS

LOCK = Path(__file__).parents[1] / "sites" / "data" / "environment" / "spack.lock"


@pytest.fixture
def active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the active environment; everything in it counts as installed."""
    folder = tmp_path / "environment"
    folder.mkdir()
    shutil.copyfile(LOCK, folder / "spack.lock")
    lock = locks.read(folder / "spack.lock")
    for spec in lock.specs.values():
        if spec.external is None:
            place = Path(programming_environments.prefix_of_spec(spec, lock))
            place.mkdir(parents=True, exist_ok=True)
            if spec.name == programming_environments.OSU_PACKAGE:
                for benchmark in BENCHMARKS:
                    (place / f"osu_{benchmark}").touch()
    monkeypatch.setenv("SPACK_ENV", str(folder))
    return folder


def swap_osu_for_netpipe(environment: Path, toolchain: str) -> str:
    """Let the MPI of a toolchain have NetPIPE 3.7.2 in place of OSU; the prefix of NetPIPE."""
    lock = locks.read(environment / "spack.lock")
    (item,) = (item for item in programming_environments.toolchains(lock) if item.name == toolchain)
    suite = item.suites[programming_environments.OSU_PACKAGE].hash
    content = json.loads(lock.file.read_text())
    content["concrete_specs"][suite] |= {
        "name": programming_environments.NETPIPE_PACKAGE,
        "version": "3.7.2",
    }
    lock.file.write_text(json.dumps(content))
    lock = locks.read(lock.file)
    prefix = programming_environments.prefix_of_spec(lock.specs[suite], lock)
    Path(prefix).mkdir(parents=True)
    return prefix
