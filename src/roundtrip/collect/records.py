"""Readers of run.json, case.json and state.json, with validation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]

from roundtrip import files
from roundtrip.collect import schemas
from roundtrip.errors import UserError

_VALIDATORS = {
    name: jsonschema.Draft202012Validator(schema)
    for name, schema in {
        "run.json": schemas.RUN,
        "case.json": schemas.CASE,
        "state.json": schemas.STATE,
    }.items()
}


def read(file: Path) -> dict[str, Any]:
    """The object in `file`, checked against the schema of that file name.

    UserError with file and line for anything that is not such a file.
    """
    text = files.read_text(file)
    data = files.parse_json(text, file)
    fault = best_match(_VALIDATORS[file.name].iter_errors(data))
    if fault is not None:
        raise UserError(_explain(fault), file, _line(text, fault))
    result: dict[str, Any] = data
    return result


def case_id(case: dict[str, Any]) -> str:
    """``<check>/<k=v,k=v sorted>@<system>:<partition>+<environ>``."""
    return named_case_id(case["display_name"], case["system"], case["partition"], case["environ"])


def named_case_id(display_name: str, system: str, partition: str, environ: str) -> str:
    """The same, from ReFrame's display name ``<check> %<k>=<v> %<k>=<v>``."""
    check, *parameters = display_name.split(" %")
    return f"{check}/{','.join(sorted(parameters))}@{system}:{partition}+{environ}"


def _explain(error: Any) -> str:
    where = ".".join(str(part) for part in error.absolute_path) or "the file"
    return f"{where}: {str(error.message)[:160]}"


def _line(text: str, error: Any) -> int | None:
    """Where the innermost named key of the fault first stands; None if it is nowhere."""
    keys = [part for part in error.absolute_path if isinstance(part, str)]
    if not keys:
        return None
    found = re.search(rf'"{re.escape(keys[-1])}"\s*:', text)
    return text.count("\n", 0, found.start()) + 1 if found else None
