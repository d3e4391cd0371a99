"""TOML and YAML files, as pydantic models; every fault is reported with its file and line.

A model derives from `model.StrictRecord`.  Several files may be merged (`merge_tables`); a fault is
then reported with the file and line of the value at fault.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml  # type: ignore[import-untyped]  # comes with ReFrame
from pydantic import Field, ValidationError

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.model import StrictRecord, first_fault

KeyPath = tuple[str | int, ...]
SourceLine = tuple[Path, int]
#: File and line of the value at each path of keys and indices.
KeyLines = dict[KeyPath, SourceLine]
#: An array of strings.
TextList = Annotated[tuple[str, ...], Field(strict=False)]

#: The first item of a list that extends the one of a base.
LIST_BELOW = "..."
_KEY_PATTERN = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED_KEY_PATTERN = rf"{_KEY_PATTERN}(?:\s*\.\s*{_KEY_PATTERN})*"
_TABLE_HEADING_PATTERN = re.compile(rf"\s*(\[\[?)\s*({_DOTTED_KEY_PATTERN})\s*\]\]?")
_KEY_LINE_PATTERN = re.compile(rf"\s*({_DOTTED_KEY_PATTERN})\s*=")
_ModelT = TypeVar("_ModelT", bound=StrictRecord)


def read_toml(file: Path) -> tuple[dict[str, Any], KeyLines]:
    """Return the TOML document in `file` and the lines of its values; UserError if invalid."""
    return parse_toml(files.read_text(file), file)


def parse_toml(text: str, file: Path) -> tuple[dict[str, Any], KeyLines]:
    """The TOML document `text` of `file`, and the lines of its values; UserError if invalid."""
    document, key_lines = files.parse_toml(text, file), dict[KeyPath, SourceLine]()
    for path, line in _toml_key_lines(text.split("\n")):
        for end in range(1, len(path) + 1):  # `[a.b]` and `a.b = 1` are the line of table a, too
            key_lines.setdefault(path[:end], (file, line))
    return document, key_lines


def merge_tables(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `overrides`: tables are merged key by key, a list that begins with
    `LIST_BELOW` extends that of `base`, any other value is replaced."""
    result = dict(base)
    for key, value in overrides.items():
        base_value = result.get(key)
        if isinstance(base_value, Mapping) and isinstance(value, Mapping):
            value = merge_tables(base_value, value)
        elif isinstance(base_value, list) and isinstance(value, list) and LIST_BELOW in value[:1]:
            value = [*base_value, *value[1:]]
        result[key] = value
    return result


def validate_table(
    data: Mapping[str, Any], model: type[_ModelT], key_lines: KeyLines, file: Path
) -> _ModelT:
    """`data` as a `model`; UserError with the first fault, and its line in `key_lines`, else
    `file`."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        violation = first_fault(error, "a table")
        path = (*violation.path, violation.key) if violation.key else violation.path
        raise error_at_key(str(violation), path, key_lines, file) from None


def error_at_key(message: str, path: KeyPath, key_lines: KeyLines, file: Path) -> UserError:
    """Return a UserError about the value at `path`, with the line of the innermost known key."""
    for end in range(len(path), 0, -1):
        if source_line := key_lines.get(path[:end]):
            return UserError(message, *source_line)
    return UserError(message, file)


def _toml_key_lines(lines: list[str]) -> Iterator[tuple[KeyPath, int]]:
    """Yield path and line number of each heading and ``key =``, but of no inline table's keys."""
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for number, line in enumerate(lines, 1):
        heading = _TABLE_HEADING_PATTERN.match(line)
        if heading and (keys := _split_key(heading[2])):
            *outer_keys, last_key = keys
            table = ()
            for key in outer_keys:
                table = (*table, key)
                # Inside an array of tables, it belongs to the last table.
                table = (*table, counts[table]) if table in counts else table
            table = (*table, last_key)
            if heading[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif pair := _KEY_LINE_PATTERN.match(line):
            yield (*table, *_split_key(pair[1])), number


def _split_key(key: str) -> KeyPath:
    """Return the parts of a dotted key; () for text that only looks like one."""
    try:
        value: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:  # a line inside a text
        return ()
    parts = []
    while isinstance(value, dict):
        ((part, value),) = value.items()
        parts.append(part)
    return tuple(parts)


#: Message about a bad scalar, with a legal example, by the last part of its YAML tag.
_MESSAGE_BY_TAG = {
    "timestamp": "date: {why}; right is one such as 2026-11-03, or a time, 2026-11-03T01:00:00Z",
    "int": "whole number: {why}; right is one such as 12",
    "float": "number: {why}; right is one such as 1.5",
}


class _BadScalarError(Exception):
    """A scalar that looks like a date or a number but is not one."""

    def __init__(self, node: yaml.ScalarNode, why: ValueError) -> None:
        kind = _MESSAGE_BY_TAG.get(node.tag.rpartition(":")[2], "value: {why}")
        super().__init__(f"{str(node.value)[:40]!a} is no {kind.format(why=why)}")
        self.line = node.start_mark.line + 1


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """PyYAML's safe loader; it reports the line of a bad date or number."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            if not isinstance(node, yaml.ScalarNode):
                raise
            raise _BadScalarError(node, error) from None


def load_yaml(file: Path) -> Any:
    """The content of `file`; UserError, with the line, if it is missing or not YAML."""
    text = files.read_text(file)
    try:
        return _Loader(text).get_single_data()
    except _BadScalarError as error:
        raise UserError(str(error), file, error.line) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise UserError(f"not YAML: {error.problem}", file, line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines() or ["nested too deeply"]
        raise UserError(f"not YAML: {reason[0]}", file) from None


def load_yaml_with_lines(file: Path) -> tuple[Any, KeyLines]:
    """The content of a YAML file, and the line of each key and item; UserError, with the line, if
    it is missing, not YAML, or has a duplicate key."""
    content = load_yaml(file)
    root = yaml.compose(files.read_text(file), Loader=yaml.SafeLoader)
    return content, dict(_yaml_key_lines(root, (), file, set())) if root else {}


def _yaml_key_lines(
    node: Any, path: KeyPath, file: Path, node_ids: set[int]
) -> Iterator[tuple[KeyPath, SourceLine]]:
    """Yield path and line of each key and item in `node`; enter no node in `node_ids` (aliases)."""
    yield path, (file, node.start_mark.line + 1)
    if id(node) in node_ids:
        return
    node_ids.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _yaml_key_lines(item, (*path, index), file, node_ids)
    elif isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            if key.value in keys:
                line = key.start_mark.line + 1
                raise UserError(f"the key {str(key.value)[:40]!a} stands twice", file, line)
            keys.add(key.value)
            yield (*path, key.value), (file, key.start_mark.line + 1)
            if not isinstance(value, yaml.ScalarNode):
                yield from _yaml_key_lines(value, (*path, key.value), file, node_ids)


def dump_yaml(content: object) -> str:
    """`content` as YAML in block style, with keys in the order given."""
    return str(yaml.safe_dump(content, sort_keys=False, width=100))
