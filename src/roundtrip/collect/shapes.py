"""The pieces that JSON schemas of records are made of: text, names, counts, amounts, objects."""

from __future__ import annotations

from typing import Any

_NO_CONTROL = r"\A[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]*\Z"
TEXT = {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": _NO_CONTROL}
LABEL = {**TEXT, "maxLength": 200}
HOST = {**TEXT, "maxLength": 255, "pattern": r"\A[^\s\x00-\x1f\x7f-\x9f\ufeff]*\Z"}
TEXT_OR_NULL = {"type": ["string", "null"]}
NUMBER_OR_NULL = {"type": ["number", "null"]}
AMOUNT_OR_NULL = {"type": ["number", "null"], "minimum": 0, "maximum": 1e15}
AMOUNT = {"type": "number", "minimum": 0, "maximum": 1e15}
COUNT = {"type": "integer", "minimum": 0, "maximum": 2**53}
COUNT_OR_NULL = {**COUNT, "type": ["integer", "null"]}
#: The most launches of a case, and of other things that are few.
MOST_FEW = 10_000
FEW = {"type": "integer", "minimum": 0, "maximum": MOST_FEW}
#: Names that become folders and labels; a `description` is what a person is told.
NAME_PATTERN = r"[^\W_][\w.-]*( [\w.-]+)*"
NAME = {
    "type": "string",
    "maxLength": 100,
    "pattern": f"^(?:{NAME_PATTERN})\\Z",
    "description": "a name has up to 100 letters, digits, single blanks, dots, - and _, "
    "and begins with a letter or a digit",
}
NUMBERS = {"type": ["array", "null"], "items": AMOUNT_OR_NULL}
SHA256 = {"type": "string", "pattern": r"\A[0-9a-f]{64}\Z"}
SIGNED_NUMBERS = {
    "type": ["array", "null"],
    "items": {"type": ["number", "null"], "minimum": -1e15, "maximum": 1e15},
}
COUNTS = {"type": ["array", "null"], "items": COUNT_OR_NULL}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """Schema of an object with all keys of `required`; `optional` and any other keys may follow."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Schema of null, or of what `schema` allows."""
    return {"anyOf": [{"type": "null"}, schema]}
