"""A checkout to write into."""

import os
import shutil
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with what a site needs of one; ReFrame is the one that runs this test."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    folder = tmp_path / "checkout"
    for part in ("site-configs", "reframe", "checks", "campaigns"):
        patterns = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / part, folder / part, ignore=patterns)
    shutil.copyfile(CHECKOUT / "spack.yaml", folder / "spack.yaml")
    return folder
