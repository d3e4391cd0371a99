"""Readers of run.json, case.json, link.json and state.json, with validation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]

from roundtrip import files
from roundtrip.collect import confined, schemas
from roundtrip.collect.text import printable
from roundtrip.errors import UserError

#: JSON Schema takes 2.0 for an integer; a column of integers does not.
_INTEGERS = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
)
_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=_INTEGERS)
#: The parameter of a check that says which pair of nodes it is launched on.
PAIR = "pair"
_VALIDATORS = {
    name: _Validator(schema)
    for name, schema in {
        "run.json": schemas.RUN,
        "case.json": schemas.CASE,
        "link.json": schemas.LINK,
        "state.json": schemas.STATE,
        "nodes.json": schemas.NODES,
        "campaign": schemas.CAMPAIGN,
        "manifest.json": schemas.MANIFEST,
        **{f"column {name}": schema for name, schema in schemas.COLUMNS.items()},
        **{f"details of {name}": schema for name, schema in schemas.DETAILS.items()},
    }.items()
}


def read(file: Path, root: Path | None = None) -> dict[str, Any]:
    """The object in `file`, checked against the schema of that file name.

    No link between `root` (the file's own folder by default) and the file is followed.  UserError
    with file and line if the file does not fit its schema.
    """
    text = confined.text(file, root)
    data = files.parse_json(text, file)
    if fault := first_fault(file.name, data):
        raise UserError(f"{fault.where or 'the file'}: {fault.told}", file, _line(text, fault))
    result: dict[str, Any] = data
    return result


@dataclass(frozen=True)
class Fault:
    """A fault that a schema finds: the path to it, as keys and indices, and why in one line."""

    path: tuple[str | int, ...]
    told: str

    @property
    def where(self) -> str:
        """The path with dots; "" for the whole."""
        return printable(".".join(map(str, self.path)))


def first_fault(kind: str, data: object) -> Fault | None:
    """The worst fault of `data` by the schema of `kind`; None if there is none.

    `kind` is the name of a file, or ``campaign``.  The collector refuses what this finds, so
    whoever writes such a file asks it first.
    """
    error = best_match(_VALIDATORS[kind].iter_errors(data))
    if error is None:
        return None
    told = (
        f"{str(error.instance)[:60]!r}: {error.schema['description']}"
        if (isinstance(error.schema, dict) and "description" in error.schema)
        else str(error.message)[:160]
    )
    return Fault(tuple(error.absolute_path), printable(told))


def case_id(case: dict[str, Any]) -> str:
    """``<check>/<k=v,k=v sorted>@<system>:<partition>+<environ>``."""
    return named_case_id(case["display_name"], case["system"], case["partition"], case["environ"])


def named_case_id(display_name: str, system: str, partition: str, environ: str) -> str:
    """As `case_id`, from ReFrame's display name ``<check> %<k>=<v> %<k>=<v>``.

    All pairs of nodes are launches of one case: the parameter that numbers them is left out.
    """
    check, *told = display_name.split(" %")
    parameters = [item for item in told if not item.startswith(f"{PAIR}=")]
    return f"{check}/{','.join(sorted(parameters))}@{system}:{partition}+{environ}"


def _line(text: str, fault: Fault) -> int | None:
    """The first line with the innermost key of the fault; None if no line has it."""
    keys = [part for part in fault.path if isinstance(part, str)]
    if not keys:
        return None
    found = re.search(rf'"{re.escape(keys[-1])}"\s*:', text)
    return text.count("\n", 0, found.start()) + 1 if found else None
