"""Reads and writes YAML, with the place of a fault.  PyYAML comes with ReFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from roundtrip import files
from roundtrip.errors import UserError


def load(file: Path) -> Any:
    """The content of `file`; UserError, with the line, if it is missing or not YAML."""
    text = files.read_text(file)
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise UserError(f"not YAML: {error.problem}", file, line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        told = str(error).splitlines() or ["nested too deeply"]
        raise UserError(f"not YAML: {told[0]}", file) from None


def dump(content: object) -> str:
    """`content` as YAML in block style, with keys in the order given."""
    return str(yaml.safe_dump(content, sort_keys=False, width=100))
