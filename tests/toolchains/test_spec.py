from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from roundtrip.cli.commands import app
from roundtrip.errors import UserError
from roundtrip.toolchains.spec import SMOKE, TOOLCHAINS, select


def test_eight_names_that_reframe_accepts() -> None:
    assert len(TOOLCHAINS) == 8
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in TOOLCHAINS)
    assert set(SMOKE) <= set(TOOLCHAINS)


def test_selection() -> None:
    assert [t.name for t in select([])] == list(SMOKE)
    assert [t.name for t in select(["mpich50-boost174"] * 2)] == ["mpich50-boost174"]
    assert len(select([], everything=True)) == 8


def test_unknown_name_lists_the_legal_ones_on_one_line() -> None:
    with pytest.raises(UserError) as caught:
        select(["mpich41-boost181"])
    message = str(caught.value)
    assert "mpich41-boost181" in message
    assert all(name in message for name in TOOLCHAINS)
    assert "\n" not in message
    result = CliRunner().invoke(app, ["toolchains", "mpich41-boost181"])
    assert isinstance(result.exception, UserError)
