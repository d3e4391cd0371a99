"""A job whose script lies in a folder with a blank in its name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import reframe.core.schedulers.local as local

FILE = Path(__file__).parents[2] / "checks" / "mixins" / "local_jobs.py"


def test_a_script_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "osext", local.osext)  # put back afterwards
    spec = importlib.util.spec_from_file_location("local_jobs", FILE)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    script = tmp_path / "a b" / "job.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    assert local.osext.run_command_async(str(script)).wait() == 7
