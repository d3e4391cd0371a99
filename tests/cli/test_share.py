"""``roundtrip collect`` prints the bundle of a run, and ``schema`` describes JSON key by key."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.measure import manifest
from roundtrip.output import MODEL_BY_COMMAND


def test_the_one_line_names_a_bundle_that_holds(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=2)
    result = CliRunner().invoke(app, ["collect", str(tree.path)])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    bundle = Path(line.removeprefix("bundle: "))
    assert bundle.parent == tree.path / "bundles"
    assert manifest.verify(bundle).data["campaign"] == "synthetic"


def test_collect_of_another_folder_says_what_is_right(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["collect", str(tmp_path)])
    assert str(result.exception) == (
        f"{tmp_path}: no tree of a campaign run: right is runs/<campaign>/<site>/<start>/"
    )


@pytest.mark.parametrize("command", MODEL_BY_COMMAND)
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
