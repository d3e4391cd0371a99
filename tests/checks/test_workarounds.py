"""What is mended in ReFrame's modules."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import reframe.core.schedulers.local as local
import reframe.frontend.executors.policies as policies
from reframe.core import fields, variables

from checks import workarounds


def test_a_script_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        *((local, "osext"), (local, "time"), (policies, "time")),
        *((module, "user_deprecation_warning") for module in (fields, variables)),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back afterwards
    importlib.reload(workarounds)
    script = tmp_path / "a b" / "job.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 7\n")
    script.chmod(0o755)
    assert local.osext.run_command_async(str(script)).wait() == 7
