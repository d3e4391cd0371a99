"""What people declared for a run, as its bundle has it: ``campaign.toml`` and ``analysis.toml``.

Values stay; comments and keys that nobody reads do not, because a site may write anything there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from roundtrip import files
from roundtrip.collect import analysis
from roundtrip.collect.disclosure import Disclosure
from roundtrip.errors import UserError
from roundtrip.model import Few, Table
from roundtrip.tables import Strings

_Names = Annotated[Strings, Field(min_length=1)]


def _plain(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("plain", "input should be a text or a number")
    return value


_Values = Annotated[
    tuple[Annotated[Any, AfterValidator(_plain)], ...], Field(strict=False, min_length=1)
]
_FILE = "campaign.toml"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: The code of a line of TOML, and its comment.
_COMMENT = re.compile(r"""((?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*)(#.*)?""")


class CheckTable(Table):
    """A table ``[[check]]``; `campaign.model` says what the keys mean."""

    name: str = ""
    toolchains: _Names | None = None
    partitions: _Names | None = None
    parameters: dict[str, _Values] = Field(default_factory=dict)
    variables: dict[str, Any] = Field(default_factory=dict)


class CampaignTable(Table):
    """A campaign's file."""

    title: Annotated[str, Field(max_length=200)] | None = None
    launches: Annotated[Few, Field(ge=1)] = 1
    extra_launches: Few = 0
    time_limit_minutes: Annotated[float, Field(gt=0, le=366 * 24 * 60)] = 24 * 60
    confirm: str | None = None
    sequential: bool = False
    allow_untold: bool = False
    abba_seed: Annotated[int, Field(ge=0)] | None = None
    nodes: Literal["all"] | None = None
    rounds_a_night: Annotated[Few, Field(ge=1)] | None = None
    check: Annotated[tuple[CheckTable, ...], Field(strict=False)] = ()


def campaign(text: str, names: Disclosure) -> str:
    """The text of a campaign's file with its named keys alone; "" for what is no TOML."""
    try:
        data = files.parse_toml(text)
    except UserError:
        return ""
    lines = _lines(data, CampaignTable, names)
    checks = data.get("check")
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict):
            lines += ["", "[[check]]", *_lines(check, CheckTable, names)]
    return "\n".join([*lines, ""])


def thresholds(text: str, names: Disclosure) -> str:
    """The text of an analysis.toml, without comments that are not of the package's own file."""
    ours = {found[2] for line in analysis.default_text().splitlines() if (found := _split(line))}
    kept = []
    for line in text.splitlines():
        found = _split(line)
        code, comment = (found[1], found[2] or "") if found else (line, "")
        kept.append((code + (comment if comment in ours else "")).rstrip())
    return "\n".join([*(names.kept(line, analysis.FILE_NAME) for line in kept), ""])


def _split(line: str) -> re.Match[str] | None:
    return _COMMENT.fullmatch(line)


def _lines(data: Mapping[str, Any], table: type[Table], names: Disclosure) -> list[str]:
    keys = [key for key in table.model_fields if key in data and key != "check"]
    kept = {key: names.fields(data[key], f"{_FILE} {key}") for key in keys}
    return [f"{key} = {_value(value)}" for key, value in kept.items()]


def _value(value: Any) -> str:
    """As TOML; what JSON and TOML write alike is written as JSON."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return _quoted(str(value))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
