"""What ReFrame's log and report have of a check: its parameters, and why it skipped itself."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SkipTestError
from reframe.core.meta import RegressionTestMeta

from checks.osu.osu import OSU

CHECKOUT = Path(__file__).parents[2]


def test_every_parameter_of_a_check_is_logged() -> None:
    files = (file.relative_to(CHECKOUT) for file in (CHECKOUT / "checks").rglob("*.py"))
    modules = [importlib.import_module(".".join(file.with_suffix("").parts)) for file in files]
    parameters = {
        f"{check.__name__}.{name}": parameter.is_loggable()
        for module in modules
        for check in vars(module).values()
        if isinstance(check, RegressionTestMeta)
        for name, parameter in check.param_space.params.items()
    }
    assert {"NPBAtScale.scale", "NPBAtScale.problem_class", "NetPIPE.mode"} <= parameters.keys()
    assert [name for name, is_logged in parameters.items() if not is_logged] == []


def test_why_a_check_skips_itself_is_in_its_report() -> None:
    """ReFrame's report has the loggable variables of a skipped test, and no reason."""
    assert "skip_reason" in dict(OSU.loggable_attrs())
    launch = SimpleNamespace(skip_reason="")
    with pytest.raises(SkipTestError, match="no osu_bw here"):
        OSU.skip(launch, "no osu_bw here")
    assert launch.skip_reason == "no osu_bw here"
