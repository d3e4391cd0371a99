"""``roundtrip schema``: what commands print as JSON is described, key by key."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.output import OUTPUTS


@pytest.mark.parametrize("command", OUTPUTS)
def test_every_key_is_described_and_the_version_is_fixed(command: str) -> None:
    schema = json.loads(CliRunner().invoke(app, ["schema", command]).stdout)
    models = [schema, *schema.get("$defs", {}).values()]
    assert all("description" in model for model in models)
    for model in models:
        keys = model["properties"]
        assert not model["additionalProperties"]
        assert [key for key, value in keys.items() if "description" not in value] == []
        assert sorted(model["required"]) == sorted(keys)
    assert schema["properties"]["schema"]["const"] >= 1


def test_a_command_without_json_is_named() -> None:
    result = CliRunner().invoke(app, ["schema", "doctor"])
    assert isinstance(result.exception, UserError)
    assert str(result.exception).startswith("no JSON of 'doctor': right is one of history, compare")
