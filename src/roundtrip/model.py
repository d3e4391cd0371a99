"""Typed records: one pydantic model defines the content of a file or a table.

Validation and its messages follow from the model.  For a table, the columns, the rules for their
cells (`measure.columns`) and the part of docs/reference.md also follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from roundtrip.errors import printable

#: A character that neither breaks a line nor controls a terminal.
CHARACTER_PATTERN = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]"
_TEXT_PATTERN = f"^{CHARACTER_PATTERN}*$"
_HOST_PATTERN = r"^[^\s\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]*$"
_NAME_PATTERN = r"[^\W_][\w.-]*( [\w.-]+)*"
_SHA256_PATTERN = r"^[0-9a-f]{64}$"
TIME_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
NAME_RULE = (
    "a name has up to 100 letters, digits, single blanks, dots, - and _, "
    "and begins with a letter or a digit"
)
#: Description of legal texts by pattern; pydantic, polars and Python read the patterns alike.
DESCRIPTION_BY_PATTERN = {
    f"^(?:{_NAME_PATTERN})$": NAME_RULE,
    _HOST_PATTERN: "a name of a host",
    _SHA256_PATTERN: "a sha256",
    TIME_PATTERN: "a time as 2026-11-21T07:00:00Z",
}
MAX_COUNT, MAX_AMOUNT = 2**53, 1e15


def _is_time(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError(
            "time", "right is {right}", {"right": DESCRIPTION_BY_PATTERN[TIME_PATTERN]}
        ) from None
    return text


Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=_TEXT_PATTERN)]
ShortText = Annotated[str, Field(min_length=1, max_length=200, pattern=_TEXT_PATTERN)]
Host = Annotated[str, Field(min_length=1, max_length=255, pattern=_HOST_PATTERN)]
#: Names become folders and labels.
Name = Annotated[str, Field(max_length=100, pattern=f"^(?:{_NAME_PATTERN})$")]
Sha256 = Annotated[str, Field(pattern=_SHA256_PATTERN)]
#: A time of the calendar, UTC, to the second.
UtcTime = Annotated[str, Field(pattern=TIME_PATTERN), AfterValidator(_is_time)]
#: A time of the calendar, as ISO 8601 has it.
IsoTime = Annotated[str, AfterValidator(_is_time)]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
#: Launches of a case, and other things that are few.
SmallCount = Annotated[int, Field(ge=0, le=10_000)]
NonNegative = Annotated[float, Field(ge=0, le=MAX_AMOUNT)]
#: Thresholds: not negative, and below a bound that no sensible one reaches.
Threshold = Annotated[float, Field(ge=0, le=MAX_COUNT)]
Positive = Annotated[float, Field(gt=0, le=MAX_COUNT)]
#: A share, a probability or a level.
Share = Annotated[float, Field(gt=0, lt=1)]
Sizes = Annotated[tuple[Count, ...], Field(strict=False, min_length=1)]
Thresholds = Annotated[tuple[Threshold, ...], Field(strict=False, min_length=1)]
SignedNumber = Annotated[float, Field(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]


_ModelT = TypeVar("_ModelT", bound=BaseModel)


class Record(BaseModel):
    """An object of JSON, or a row of a table; keys that the model does not name may follow."""

    model_config = ConfigDict(
        extra="allow", frozen=True, strict=True, allow_inf_nan=False, defer_build=True
    )


def column(description: str, unit: str = "", is_key: bool = False) -> Any:
    """Return the field for a column of a bundle's table; docs/reference.md has `description`.
    `is_key`: whether it identifies the series of a sample."""
    return Field(description=description, json_schema_extra={"unit": unit, "key": is_key})


def optional_field(description: str, unit: str = "") -> Any:
    """Return the field for a value that a file or a cell may lack: it is None."""
    return Field(None, description=description, json_schema_extra={"unit": unit})


def newer_column(description: str, unit: str = "") -> Any:
    """Return the field for a column that older bundles lack: its cells are null."""
    return Field(None, description=description, json_schema_extra={"unit": unit, "later": True})


class StrictRecord(Record):
    """A record, as a TOML table, that refuses a key that it does not name; lists legal keys."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _require_known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            legal = {field.alias or name for name, field in cls.model_fields.items()}
            for key in data:
                if key not in legal:
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key '{key}'; legal are {legal}",
                        {"key": str(key), "legal": ", ".join(sorted(legal))},
                    )
        return data


def is_name(text: str) -> bool:
    """Whether `text` is a `Name`."""
    return len(text) <= 100 and re.fullmatch(_NAME_PATTERN, text) is not None


@dataclass(frozen=True)
class Fault:
    """The first fault of some data: its `path` of keys and indices, and `why`, one line.

    `key` is the key at fault inside the value at the path, "" if the value itself is at fault.
    """

    path: tuple[str | int, ...]
    why: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.dotted_path}: {self.why}" if self.path else self.why

    @property
    def dotted_path(self) -> str:
        """The path with dots; "" for the root."""
        return printable(".".join(map(str, self.path)))


def find_fault(model: type[Record], data: object) -> Fault | None:
    """The first fault of `data` by `model`; None if there is none."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        return first_fault(error, "an object")
    return None


def first_fault(error: ValidationError, container: str) -> Fault:
    """Return the first fault of `error`; `container` names an object with keys, as "a table"."""
    details = error.errors(include_url=False)[0]
    path, kind = tuple(details["loc"]), details["type"]
    if key := details.get("ctx", {}).get("key"):  # from a validator of several keys
        return Fault(path, printable(details["msg"]), key)
    if kind == "missing":
        return Fault(path[:-1], printable(f"'{path[-1]}' is missing"))
    reason = details["msg"][0].lower() + details["msg"][1:]
    if kind in ("model_type", "dict_type"):
        reason = f"input should be {container}"
    elif kind in ("tuple_type", "list_type"):
        reason = "input should be a list"
    elif kind == "too_short":
        reason = f"input should be {'a list' if container == 'a table' else container} "
        reason += "with at least one value"
    elif kind == "string_pattern_mismatch":
        words = DESCRIPTION_BY_PATTERN.get(
            details["ctx"]["pattern"], "a line of printable characters"
        )
        reason = f"right is {words}"
    return Fault(path, printable(f"{reason}, not {details['input']!r:.60}"))


def extend_model(base: type[_ModelT], fields: Mapping[str, Any]) -> type[_ModelT]:
    """Return `base` with more `fields`: a type and a default by name."""
    return create_model(base.__name__, __base__=base, **dict(fields))


@cache
def json_schema(model: type[Record]) -> Mapping[str, Any]:
    """Return the JSON Schema of a model, with all references resolved."""
    schema = model.model_json_schema()
    flat_schema: Mapping[str, Any] = _resolve_references(schema, schema.get("$defs", {}))
    return flat_schema


def _resolve_references(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_resolve_references(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        definition = _resolve_references(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
        return {**definition, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {
        key: _resolve_references(item, definitions)
        for key, item in schema.items()
        if key != "$defs"
    }
