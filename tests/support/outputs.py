"""What a command prints as JSON, held to the JSON Schema that `roundtrip schema` prints."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from roundtrip.cli import app


def answer(command: str, printed: str) -> Any:
    """The answer of a command, which fits its schema."""
    schema = json.loads(CliRunner().invoke(app, ["schema", command]).stdout)
    Draft202012Validator.check_schema(schema)
    content = json.loads(printed)
    Draft202012Validator(schema).validate(content)
    return content
