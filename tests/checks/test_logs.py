"""ReFrame's log records of which case a performance variable is."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from reframe.core.meta import RegressionTestMeta

CHECKOUT = Path(__file__).parents[2]


def test_every_parameter_of_a_check_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CHECKOUT))
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
