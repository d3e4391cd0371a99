"""The recorded Spack environment with its folders in place; sources to fill a mirror from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from roundtrip.sites import lock as locks
from roundtrip.sites import toolchains

RECORDED = Path(__file__).parent / "data" / "environment" / "spack.lock"


@pytest.fixture
def active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the active environment; everything in it counts as installed."""
    folder = tmp_path / "environment"
    folder.mkdir()
    shutil.copyfile(RECORDED, folder / "spack.lock")
    lock = locks.read(folder / "spack.lock")
    for spec in lock.specs.values():
        if spec.external is None:
            Path(toolchains.prefix_of_spec(spec, lock)).mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("SPACK_ENV", str(folder))
    return folder
