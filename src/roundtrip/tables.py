"""TOML files read into pydantic models; every fault is reported with its file and line.

A model derives from `model.Table`.  Several files may be merged (`merge`); a fault is then reported
with the file and line of the value at fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.model import Table, first_fault

Path_ = tuple[str | int, ...]
#: File and line of the value at each path of keys and indices.
Places = dict[Path_, tuple[Path, int]]
#: An array of strings.
Strings = Annotated[tuple[str, ...], Field(strict=False)]

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADING = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?")
_PAIR = re.compile(rf"\s*({_DOTTED})\s*=")
_Model = TypeVar("_Model", bound=Table)


def read(file: Path) -> tuple[dict[str, Any], Places]:
    """Return the TOML document in `file` and the places of its values; UserError if invalid."""
    return parse(files.read_text(file), file)


def parse(text: str, file: Path) -> tuple[dict[str, Any], Places]:
    """Return the TOML `text` of `file` as a document, and its places; UserError if invalid."""
    return files.parse_toml(text, file), {
        path: (file, line) for path, line in reversed(list(_places(text.splitlines())))
    }


def merge(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `overrides`: tables are merged key by key, any other value is replaced."""
    result = dict(base)
    for key, value in overrides.items():
        base_value = result.get(key)
        are_tables = isinstance(base_value, Mapping) and isinstance(value, Mapping)
        result[key] = merge(base_value, value) if are_tables else value  # type: ignore[arg-type]
    return result


def validate(data: Mapping[str, Any], model: type[_Model], places: Places, file: Path) -> _Model:
    """Return `data` as a `model`; UserError with the first fault and its place, else `file`."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        violation = first_fault(error, "a table")
        path = (*violation.path, violation.key) if violation.key else violation.path
        raise fault(str(violation), path, places, file) from None


def fault(message: str, path: Path_, places: Places, file: Path) -> UserError:
    """Return a UserError about the value at `path`, with the line of the innermost known key."""
    for end in range(len(path), 0, -1):
        if place := places.get(path[:end]):
            return UserError(message, *place)
    return UserError(message, file)


def _places(lines: list[str]) -> Iterator[tuple[Path_, int]]:
    """Yield (path, line) of each heading and ``key =``, in order, without inline tables' keys."""
    table: Path_ = ()
    counts: dict[Path_, int] = {}
    for number, line in enumerate(lines, 1):
        if heading := _HEADING.match(line):
            table = _inside(_split(heading[2]), counts)
            if heading[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif pair := _PAIR.match(line):
            yield (*table, *_split(pair[1])), number


def _inside(keys: Path_, counts: Mapping[Path_, int]) -> Path_:
    """Return the path of a heading; inside an array of tables, it belongs to the last table."""
    path: Path_ = ()
    for key in keys[:-1]:
        path = (*path, key)
        path = (*path, counts[path]) if path in counts else path
    return (*path, *keys[-1:])


def _split(key: str) -> Path_:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, key))
