"""Models of a campaign's file, and the public text of this file and of analysis.toml.

Comments and unknown keys are not public, because a site may write anything there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import analysis
from roundtrip.measure.disclosure import Disclosure
from roundtrip.model import SmallCount, Table
from roundtrip.tables import TextList

_NameTuple = Annotated[TextList, Field(min_length=1)]


def _require_scalar(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("plain", "input should be a text or a number")
    return value


def _require_flat(value: object) -> object:
    for item in value if isinstance(value, list | tuple) else (value,):
        _require_scalar(item)
    return value


_ValueTuple = Annotated[
    tuple[Annotated[Any, AfterValidator(_require_scalar)], ...], Field(strict=False, min_length=1)
]
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: The code of a line of TOML, and its comment.
_CODE_AND_COMMENT_PATTERN = re.compile(r"""((?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*)(#.*)?""")


class CheckTable(Table):
    """A table ``[[check]]`` of a campaign's file."""

    name: str = Field("", description="a ReFrame check; required")
    toolchains: _NameTuple | None = Field(
        None,
        description="ReFrame environments, or `smoke`: those of campaign `smoke`; all by default",
    )
    partitions: _NameTuple | None = Field(None, description="all by default")
    parameters: dict[str, _ValueTuple] = Field(
        default_factory=dict,
        description='as `{ mode = ["pingpong"] }`; all values of a parameter that is not named',
    )
    variables: dict[str, Annotated[Any, AfterValidator(_require_flat)]] = Field(
        default_factory=dict,
        description="variables of the check, as with `reframe -S`: `{ budget = 4 }`",
    )


class CampaignTable(Table):
    """A campaign's file."""

    title: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="one line for people; the name of the file by default"
    )
    launches: Annotated[SmallCount, Field(ge=1)] = Field(
        1, description="launches of each case; `--dry-run` says how many the claims need"
    )
    extra_launches: SmallCount = Field(
        0, description="at most so many more of a case whose launches were disturbed"
    )
    time_limit_minutes: Annotated[float, Field(gt=0, le=366 * 24 * 60)] = Field(
        24 * 60, description="of launching, not of building: no round starts after it"
    )
    confirm: str | None = Field(
        None,
        description="a time such as `30m`: what was worse last night is launched again, for so "
        "long at most, within the time limit",
    )
    blame: str | None = Field(
        None,
        description="a time such as `2h`: after a night, launches search for so long at most for "
        "what made the largest step that is confirmed; not within the time limit",
    )
    sequential: bool = Field(
        False,
        description="launches end when the claims are decided; `roundtrip ab` writes it",
    )
    allow_untold: bool = Field(
        False, description="exit status 0 although nothing can be decided from what was measured"
    )
    abba_seed: Annotated[int, Field(ge=0)] | None = Field(
        None, description="the seed of the coins; `roundtrip ab --order abba` writes it"
    )
    nodes: Literal["all"] | None = Field(
        None,
        description="`all`: checks of two nodes run on pairs of all nodes of a Slurm partition, "
        "those of one node on each",
    )
    rounds_a_night: Annotated[SmallCount, Field(ge=1)] | None = Field(
        None,
        description='with `nodes = "all"`: rounds of the schedule in one night; the next night '
        "goes on; all by default",
    )
    check: Annotated[tuple[CheckTable, ...], Field(strict=False)] = Field(
        (), description="tables `[[check]]`, below"
    )


def public_campaign(text: str, names: Disclosure) -> str:
    """Return the text of a campaign's file with only its known keys; "" if it is no TOML."""
    try:
        data = files.parse_toml(text)
    except UserError:
        return ""
    lines = _toml_lines(data, CampaignTable, names)
    checks = data.get("check")
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict):
            lines += ["", "[[check]]", *_toml_lines(check, CheckTable, names)]
    return "\n".join([*lines, ""])


def public_thresholds(text: str, names: Disclosure) -> str:
    """Return the text of an analysis.toml with only the comments of the package's own file."""
    matches = map(_CODE_AND_COMMENT_PATTERN.fullmatch, analysis.default_text().splitlines())
    package_comments = {match[2] for match in matches if match}
    lines = []
    for line in text.splitlines():
        match = _CODE_AND_COMMENT_PATTERN.fullmatch(line)
        code, comment = (match[1], match[2] or "") if match else (line, "")
        line = (code + (comment if comment in package_comments else "")).rstrip()
        lines.append(names.redact(line, analysis.FILE_NAME))
    return "\n".join([*lines, ""])


def _toml_lines(data: Mapping[str, Any], table: type[Table], names: Disclosure) -> list[str]:
    lines = []
    for key in [key for key in table.model_fields if key in data and key != "check"]:
        is_title = key == "title" and isinstance(data[key], str)
        value = (names.title if is_title else names.fields)(data[key], f"campaign.toml {key}")
        lines.append(f"{key} = {_toml_value(value)}")
    return lines


def _toml_value(value: Any) -> str:
    """Return `value` as TOML, with JSON's syntax where both agree."""
    if isinstance(value, dict):
        keys = {key: key if _BARE_KEY.fullmatch(key) else _toml_key(key) for key in value}
        pairs = ", ".join(f"{keys[key]} = {_toml_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return _toml_key(str(value))


def _toml_key(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
