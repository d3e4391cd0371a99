"""What people declared for a run, as its bundle has it: ``campaign.toml`` and ``analysis.toml``.

Values stay; comments and keys that nobody reads do not, because a site may write anything there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from roundtrip import files
from roundtrip.collect import analysis
from roundtrip.collect.disclosure import Disclosure
from roundtrip.errors import UserError

#: The keys of a campaign's file that a bundle keeps; `campaign.model` says what they mean.
_CAMPAIGN = (
    *("title", "launches", "extra_launches", "time_limit_minutes", "confirm", "sequential"),
    *("allow_untold", "abba_seed", "nodes", "rounds_a_night"),
)
_CHECK = ("name", "toolchains", "partitions", "parameters", "variables")
_FILE = "campaign.toml"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: The code of a line of TOML, and its comment.
_COMMENT = re.compile(r"""((?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*)(#.*)?""")


def campaign(text: str, names: Disclosure) -> str:
    """The text of a campaign's file with its named keys alone; "" for what is no TOML."""
    try:
        data = files.parse_toml(text)
    except UserError:
        return ""
    lines = _lines(data, _CAMPAIGN, names)
    checks = data.get("check")
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict):
            lines += ["", "[[check]]", *_lines(check, _CHECK, names)]
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


def _lines(data: Mapping[str, Any], keys: tuple[str, ...], names: Disclosure) -> list[str]:
    kept = {key: names.fields(data[key], f"{_FILE} {key}") for key in keys if key in data}
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
