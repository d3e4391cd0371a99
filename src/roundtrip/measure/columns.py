"""Derives columns, rules and cells of a table from the pydantic model of its rows.

An object becomes a struct, a list a list, and a map a list of name and value.  Settings are such a
map with values of any type: parameters of a check, facts of a launch's emulation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import polars as pl

from roundtrip.model import DESCRIPTION_BY_PATTERN, TIME_PATTERN, Record, json_schema

#: The columns of a table with their polars types.
Schema = dict[str, Any]
#: Polars type and displayed name of each JSON Schema type.
_COLUMN_TYPES: Mapping[str, tuple[Any, str]] = {
    "string": (pl.String, "text"),
    "integer": (pl.Int64, "integer"),
    "number": (pl.Float64, "number"),
    "boolean": (pl.Boolean, "yes/no"),
}


@dataclass(frozen=True)
class CellRule:
    """A rule for the cells of a `column`: `condition` is true for each valid cell, `requirement`
    describes it in words; null is valid if `nullable`."""

    column: str
    condition: pl.Expr
    requirement: str
    nullable: bool = False

    @property
    def violation(self) -> pl.Expr:
        """Return the polars expression whether a row breaks the rule."""
        is_null = pl.col(self.column).is_null()
        is_good = is_null | self.condition if self.nullable else self.condition
        return ~is_good.fill_null(False)


class Row(Record):
    """Base of the models of rows: each field is a column, null if it may be None.  `extra_rules`
    are rules beyond the types of the fields."""

    extra_rules: ClassVar[tuple[CellRule, ...]] = ()


@cache
def table_columns(model: type[Record]) -> Schema:
    """Return the columns, with polars types, of a table whose rows are of class `model`."""
    return {name: _dtype(schema) for name, schema in _properties(model).items()}


def newer_columns(model: type[Record]) -> frozenset[str]:
    """Return the columns of `model` that older bundles lack."""
    return frozenset(n for n, schema in _properties(model).items() if schema.get("later"))


def key_columns(model: type[Record]) -> tuple[str, ...]:
    """Return the columns of `model` that identify the series of a row, in the table's order."""
    return tuple(name for name, schema in _properties(model).items() if schema.get("key"))


@cache
def cell_rules(model: type[Row]) -> tuple[CellRule, ...]:
    """Return the rules for the cells of rows of class `model`."""
    column_rules = []
    for name, schema in _properties(model).items():
        condition, requirement = _cell_condition(_non_null_schema(schema), pl.col(name))
        column_rules.append(CellRule(name, condition, requirement, nullable=_is_nullable(schema)))
    return (*column_rules, *model.extra_rules)


def render_columns(model: type[Record]) -> Iterator[str]:
    """Yield the lines of a Markdown table that describes the columns of `model`."""
    yield "| column | type | unit | what it says |"
    yield "|---|---|---|---|"
    for name, schema in _properties(model).items():
        bare, unit = _non_null_schema(schema), schema.get("unit", "")
        _, kind = _COLUMN_TYPES.get(bare["type"], (None, ""))
        if bare["type"] == "array":
            kind = f"list of {_COLUMN_TYPES[_non_null_schema(bare['items'])['type']][1]}"
        yield f"| `{name}` | {kind} | {unit + ' ' if unit else ''}| {schema['description']} |"


def encode_row(model: type[Record], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a row, by column, for `record`; other entries are left out."""
    row: dict[str, Any] = _encode_cell(json_schema(model), record)
    return row


def decode_row(model: type[Record], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record for a row's cells, without nulls: the inverse of `encode_row`."""
    value: dict[str, Any] = _decode_cell(json_schema(model), row)
    return value


def _properties(model: type[Record]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = json_schema(model)["properties"]
    return properties


def _is_nullable(schema: Mapping[str, Any]) -> bool:
    return {"type": "null"} in schema.get("anyOf", ())


def _non_null_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a JSON Schema of a nullable type without null; TypeError if several types remain."""
    if "anyOf" in schema:
        kinds = [option for option in schema["anyOf"] if option != {"type": "null"}]
        schema = kinds[0] if len(kinds) == 1 else schema
    if "type" not in schema:
        raise TypeError(f"no column can hold what {dict(schema)} allows: it has no single type")
    return schema


def _dtype(schema: Mapping[str, Any]) -> Any:
    schema = _non_null_schema(schema)
    match schema["type"]:
        case "string" if schema.get("format") == "date-time":
            return pl.Datetime("us")
        case "array":
            return pl.List(_dtype(schema["items"]))
        case "object" if "properties" in schema:
            return pl.Struct({name: _dtype(field) for name, field in schema["properties"].items()})
        case "object":
            value_type = _dtype(schema["additionalProperties"])
            return pl.List(pl.Struct({"name": pl.String, "value": value_type}))
        case kind:
            return _COLUMN_TYPES[kind][0]


def _cell_condition(schema: Mapping[str, Any], cell: pl.Expr) -> tuple[pl.Expr, str]:
    """Return the condition for a cell that is not null, and the condition in words."""
    low = schema.get("exclusiveMinimum", schema.get("minimum"))
    match schema["type"]:
        case _ if "enum" in schema:
            return cell.is_in(schema["enum"]), f"one of {', '.join(schema['enum'])}"
        case "array":
            items, item = schema["items"], pl.element()
            condition, requirement = _cell_condition(_non_null_schema(items), item)
            good = item.is_null() | condition if _is_nullable(items) else condition
            return cell.list.eval(good.fill_null(False)).list.all(), f"a list, each {requirement}"
        case "string":
            return _text_condition(schema, cell)
        case "number" if low is None:
            return cell.is_finite(), "a finite number"
        case "number" | "integer" if low is not None:
            high, is_open = schema["maximum"], "exclusiveMinimum" in schema
            condition = cell.is_between(low, high, "right" if is_open else "both")
            return condition, f"{'above' if is_open else 'from'} {low:g} to {high:g}"
    return cell.is_not_null(), {"integer": "a whole number"}.get(schema["type"], "yes or no")


def _text_condition(schema: Mapping[str, Any], cell: pl.Expr) -> tuple[pl.Expr, str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    pattern = schema.get("pattern")
    condition = cell.str.len_chars().is_between(least, most) if most else cell.is_not_null()
    requirement = f"a text of up to {most}" if most else "a text"
    if pattern:
        condition &= cell.str.contains(pattern)
        requirement = DESCRIPTION_BY_PATTERN.get(
            pattern, f"a text of {least} to {most} printable characters"
        )
    if pattern == TIME_PATTERN:
        condition &= cell.str.to_datetime("%Y-%m-%dT%H:%M:%SZ", strict=False).is_not_null()
    return condition, requirement


def _encode_cell(schema: Mapping[str, Any], value: Any) -> Any:
    schema = _non_null_schema(schema)
    match schema["type"]:
        case _ if value is None:
            return None
        case "array":
            return [_encode_cell(schema["items"], item) for item in value]
        case "object" if "properties" in schema:
            return {
                n: _encode_cell(field, value.get(n)) for n, field in schema["properties"].items()
            }
        case "object":
            kind, items = schema["additionalProperties"], sorted(value.items())
            return [{"name": name, "value": _encode_cell(kind, item)} for name, item in items]
        case "number":
            return float(value)
    return value


def _decode_cell(schema: Mapping[str, Any], cell: Any) -> Any:
    schema = _non_null_schema(schema)
    match schema["type"]:
        case _ if cell is None:
            return None
        case "array":
            return [_decode_cell(schema["items"], item) for item in cell]
        case "object" if "properties" in schema:
            values = {
                name: _decode_cell(item, cell[name]) for name, item in schema["properties"].items()
            }
            return {name: item for name, item in values.items() if item is not None}
        case "object":
            value_schema = schema["additionalProperties"]
            return {entry["name"]: _decode_cell(value_schema, entry["value"]) for entry in cell}
    return cell


#: Type of a cell of `settings_by_launch`.
SETTINGS_DTYPE = pl.List(pl.Struct({"name": pl.String, "value": pl.String, "number": pl.Float64}))
_NUMBER_PATTERN = re.compile(r"[+-]?\d{1,300}(\.\d{0,300})?([eE][+-]?\d{1,3})?", re.ASCII)


def setting_rows(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each of `facts`, sorted: name, value (text), number (None if it is none)."""
    return [
        {"name": name, "value": str(value), "number": _parse_number(value)}
        for name, value in sorted(facts.items())
    ]


def settings_by_launch(settings: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a row for each launch with settings: launch, and column `name` with their list."""
    cells = pl.struct("name", "value", "number").alias(name)
    return settings.group_by("launch", maintain_order=True).agg(cells)


def setting_texts(settings: Sequence[Mapping[str, Any]] | None) -> dict[str, str]:
    """Return value by name of the settings in a cell of `settings_by_launch`; {} from None."""
    return {setting["name"]: setting["value"] for setting in settings or ()}


def setting_number(settings: Sequence[Mapping[str, Any]] | None, name: str) -> float | None:
    """Return the number of the setting `name` in such a cell; None without one."""
    return next((setting["number"] for setting in settings or () if setting["name"] == name), None)


def _parse_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _NUMBER_PATTERN.fullmatch(value):
        return None
    return float(value) if math.isfinite(float(value)) else None
