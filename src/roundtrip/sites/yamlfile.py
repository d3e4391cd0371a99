"""Reads and writes YAML, with the place of a fault.  PyYAML comes with ReFrame."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.tables import Path_, Places

#: Message about a bad scalar, with a legal example, by the last part of its YAML tag.
_RIGHT = {
    "timestamp": "date: {why}; right is one such as 2026-11-03, or a time, 2026-11-03T01:00:00Z",
    "int": "whole number: {why}; right is one such as 12",
    "float": "number: {why}; right is one such as 1.5",
}


class _BadScalarError(Exception):
    """A scalar that looks like a date or a number but is not one."""

    def __init__(self, node: yaml.ScalarNode, why: ValueError) -> None:
        kind = _RIGHT.get(node.tag.rpartition(":")[2], "value: {why}")
        super().__init__(f"{str(node.value)[:40]!a} is no {kind.format(why=why)}")
        self.line = node.start_mark.line + 1


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader; it reports the line of a bad date or number."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            if not isinstance(node, yaml.ScalarNode):
                raise
            raise _BadScalarError(node, error) from None


def load(file: Path) -> Any:
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


def load_placed(file: Path) -> tuple[Any, Places]:
    """Return the content of `file` and the place of each key and item; UserError as in `load`.

    A duplicate key in a mapping is also a fault.
    """
    content = load(file)
    root = yaml.compose(files.read_text(file), Loader=yaml.SafeLoader)
    return content, dict(_places(root, (), file, set())) if root else {}


def _places(
    node: Any, path: Path_, file: Path, node_ids: set[int]
) -> Iterator[tuple[Path_, tuple[Path, int]]]:
    """Yield the places in `node`; do not enter nodes in `node_ids` again, as aliases may do."""
    yield path, (file, node.start_mark.line + 1)
    if id(node) in node_ids:
        return
    node_ids.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _places(item, (*path, index), file, node_ids)
    elif isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            if key.value in keys:
                line = key.start_mark.line + 1
                raise UserError(f"the key {str(key.value)[:40]!a} stands twice", file, line)
            keys.add(key.value)
            yield (*path, key.value), (file, key.start_mark.line + 1)
            if not isinstance(value, yaml.ScalarNode):
                yield from _places(value, (*path, key.value), file, node_ids)


def dump(content: object) -> str:
    """`content` as YAML in block style, with keys in the order given."""
    return str(yaml.safe_dump(content, sort_keys=False, width=100))
