"""Columns from a JSON schema: objects become structs, maps lists of name and value.

It knows the schemas that `roundtrip.collect.shapes` makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

_PLAIN: dict[str, Any] = {
    "string": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "boolean": pl.Boolean,
}


def columns(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of an object's schema: a type for each of its properties.

    TypeError for a property whose schema does not say its type.
    """
    return {name: _dtype(schema) for name, schema in record["properties"].items()}


def cells(record: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of an object's row; entries that `record` does not name are left out."""
    return {name: _cell(schema, value.get(name)) for name, schema in record["properties"].items()}


def value(record: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """The object that a row was made of, without its nulls, so that its schema can validate it."""
    found = {name: _value(of, row[name]) for name, of in record["properties"].items()}
    return {name: one for name, one in found.items() if one is not None}


def _dtype(schema: Mapping[str, Any]) -> Any:
    schema = _bare(schema)
    match schema["type"]:
        case "array":
            return pl.List(_dtype(schema["items"]))
        case "object" if _is_map(schema):
            return pl.List(
                pl.Struct({"name": pl.String, "value": _dtype(schema["additionalProperties"])})
            )
        case "object":
            return pl.Struct(columns(schema))
        case kind:
            return _PLAIN[kind]


def _cell(schema: Mapping[str, Any], value: Any) -> Any:
    schema = _bare(schema)
    match schema["type"]:
        case _ if value is None:
            return None
        case "array":
            return [_cell(schema["items"], item) for item in value]
        case "object" if _is_map(schema):
            of = schema["additionalProperties"]
            return [{"name": name, "value": _cell(of, one)} for name, one in sorted(value.items())]
        case "object":
            return cells(schema, value)
        case "number":
            return float(value)
    return value


def _value(schema: Mapping[str, Any], cell: Any) -> Any:
    schema = _bare(schema)
    match schema["type"]:
        case _ if cell is None:
            return None
        case "array":
            return [_value(schema["items"], item) for item in cell]
        case "object" if _is_map(schema):
            of = schema["additionalProperties"]
            return {one["name"]: _value(of, one["value"]) for one in cell}
        case "object":
            return value(schema, cell)
    return cell


def _is_map(schema: Mapping[str, Any]) -> bool:
    return not schema.get("properties")


def _bare(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of what is not null: a column may be null anyway."""
    if "anyOf" in schema:
        (schema,) = [one for one in schema["anyOf"] if one != {"type": "null"}]
        return _bare(schema)
    kinds = schema.get("type")
    if not isinstance(kinds, str | list):
        raise TypeError(f"no column can hold what {dict(schema)} allows: it says no type")
    if isinstance(kinds, str):
        return schema
    (kind,) = [one for one in kinds if one != "null"]
    return {**schema, "type": kind}
