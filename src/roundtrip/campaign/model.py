"""A campaign as declared: which checks, with which parameters, how many launches.

A campaign file is TOML::

    title = "..."                 # one line for people
    launches = 8                  # launches of each case; fewer than 6 give no interval
    extra_launches = 2            # at most so many more of a case whose launches were disturbed
    time_limit_minutes = 30       # of launching, not of building: no round starts after this

    [[check]]
    name = "NetPIPE"              # a ReFrame check
    toolchains = ["..."]          # ReFrame environments; all that the site has by default
    partitions = ["..."]          # all by default
    parameters = { mode = ["pingpong"] }   # all values of a parameter not named here
    variables = { budget = 4 }    # the check's variables, as with `reframe -S`
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError


@dataclass(frozen=True)
class CheckPlan:
    """One ``[[check]]`` table; `line` is where it starts.  None means "all there are"."""

    name: str
    line: int
    toolchains: tuple[str, ...] | None = None
    partitions: tuple[str, ...] | None = None
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """A campaign file, validated as far as that is possible without a site."""

    name: str
    file: Path
    title: str
    launches: int
    extra_launches: int
    time_limit_minutes: float
    checks: tuple[CheckPlan, ...]


def find(name: str, folder: Path) -> Path:
    """The file of campaign `name`: a name in `folder`, or a path to a TOML file."""
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise UserError(f"unknown campaign '{name}'; there are: {known}")
    return path


def load(file: Path) -> Campaign:
    """Read and validate a campaign file; UserError with file and line if it is not one."""
    text = files.read_text(file)
    data = files.parse_toml(text, file)
    return _Reader(file, text.splitlines()).campaign(data)


class _Reader:
    """Validates the parsed data; keeps the lines to say where a fault is."""

    def __init__(self, file: Path, lines: list[str]) -> None:
        self.file = file
        self.lines = lines

    def campaign(self, data: dict[str, Any]) -> Campaign:
        self._known_keys(
            data, {"title", "launches", "extra_launches", "time_limit_minutes", "check"}, 0
        )
        tables = data.get("check", [])
        if not isinstance(tables, list) or not tables:
            raise UserError("no [[check]] table: a campaign must run something", self.file)
        starts = [n for n, line in enumerate(self.lines, 1) if line.strip().startswith("[[check]]")]
        starts = (starts + [0] * len(tables))[: len(tables)]  # `check = [...]` has no headings
        return Campaign(
            name=self.file.stem,
            file=self.file,
            title=self._typed(data, "title", str, self.file.stem, 0),
            launches=self._positive(data, "launches", 1),
            extra_launches=self._positive(data, "extra_launches", 0),
            time_limit_minutes=self._typed(data, "time_limit_minutes", (int, float), 24 * 60, 0),
            checks=tuple(map(self._check, tables, starts)),
        )

    def _check(self, table: dict[str, Any], start: int) -> CheckPlan:
        self._known_keys(
            table, {"name", "toolchains", "partitions", "parameters", "variables"}, start
        )
        if not isinstance(table.get("name"), str):
            raise UserError("a [[check]] needs a name, the ReFrame check to run", self.file, start)
        parameters = self._typed(table, "parameters", dict, {}, start)
        variables = self._typed(table, "variables", dict, {}, start)
        return CheckPlan(
            name=table["name"],
            line=start,
            toolchains=self._names(table, "toolchains", start),
            partitions=self._names(table, "partitions", start),
            parameters={
                key: self._names(parameters, key, start, str_only=False) or () for key in parameters
            },
            variables={key: _as_option(value) for key, value in variables.items()},
        )

    def _names(
        self, table: dict[str, Any], key: str, start: int, str_only: bool = True
    ) -> tuple[str, ...] | None:
        if key not in table:
            return None
        value = table[key]
        legal = (str,) if str_only else (str, int, float)
        if not isinstance(value, list) or not value or not all(isinstance(v, legal) for v in value):
            raise UserError(
                f"{key} must be a list with at least one value", self.file, self._line(key, start)
            )
        return tuple(_as_option(v) for v in value)

    def _positive(self, data: dict[str, Any], key: str, least: int) -> int:
        value: int = self._typed(data, key, int, least, 0)
        if value < least:
            raise UserError(
                f"{key} must be at least {least}, not {value}", self.file, self._line(key, 0)
            )
        return value

    def _typed(self, data: dict[str, Any], key: str, kind: Any, default: Any, start: int) -> Any:
        value = data.get(key, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            name = "number" if isinstance(kind, tuple) else kind.__name__
            raise UserError(
                f"{key} must be a {name}, not {value!r}", self.file, self._line(key, start)
            )
        return value

    def _known_keys(self, table: dict[str, Any], legal: set[str], start: int) -> None:
        for key in table:
            if key not in legal:
                raise UserError(
                    f"unknown key '{key}'; legal are {', '.join(sorted(legal))}",
                    self.file,
                    self._line(key, start),
                )

    def _line(self, key: str, start: int) -> int | None:
        """Line of the first ``key =`` at or after line `start`."""
        pattern = re.compile(rf"(^|[{{,])\s*{re.escape(key)}\s*=")
        for number, line in enumerate(self.lines, 1):
            if number >= start and pattern.search(line):
                return number
        return start or None


def _as_option(value: object) -> str:
    """A TOML value as ReFrame writes it in names and takes it on its command line."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return ",".join(_as_option(item) for item in value)
    return str(value)
