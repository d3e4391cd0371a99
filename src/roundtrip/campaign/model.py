"""A campaign as declared: which checks, with which parameters, how many launches.

A campaign file is TOML::

    title = "..."                 # one line for people
    launches = 9                  # launches of each case; `--dry-run` says how many claims need
    extra_launches = 2            # at most so many more of a case whose launches were disturbed
    time_limit_minutes = 30       # of launching, not of building: no round starts after this

    [[check]]
    name = "..."                  # a ReFrame check
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
from roundtrip.collect import records
from roundtrip.errors import UserError


@dataclass(frozen=True)
class CheckPlan:
    """One ``[[check]]`` table, which starts at `line`.  None means all that there are."""

    name: str
    line: int
    toolchains: tuple[str, ...] | None = None
    partitions: tuple[str, ...] | None = None
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """A campaign file, validated as far as that is possible without a site.

    `launches_line` is the line of the key ``launches``, None without one.
    """

    name: str
    file: Path
    title: str
    launches: int
    extra_launches: int
    time_limit_minutes: float
    checks: tuple[CheckPlan, ...]
    launches_line: int | None = None


def find(name: str, folder: Path) -> Path:
    """The file of campaign `name`, which is a name in `folder` or a path to a TOML file.

    UserError if there is no such file.
    """
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
    """Validates the parsed data; it keeps the lines to say where a fault is."""

    def __init__(self, file: Path, lines: list[str]) -> None:
        self.file = file
        self.lines = lines

    def campaign(self, data: dict[str, Any]) -> Campaign:
        self._known_keys(
            data, {"title", "launches", "extra_launches", "time_limit_minutes", "check"}, 0
        )
        tables = data.get("check", [])
        if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
            raise UserError("check must be [[check]] tables", self.file, self._line("check", 0))
        if not tables:
            raise UserError("no [[check]] table: a campaign must run something", self.file)
        starts = [n for n, line in enumerate(self.lines, 1) if line.strip().startswith("[[check]]")]
        starts = (starts + [0] * len(tables))[: len(tables)]  # `check = [...]` has no headings
        counts = self._collectable(data)
        return Campaign(
            name=self.file.stem,
            file=self.file,
            checks=tuple(map(self._check, tables, starts)),
            launches_line=self._line("launches", 0),
            **counts,
        )

    def _collectable(self, data: dict[str, Any]) -> dict[str, Any]:
        """Title and counts, held against what the collector will accept after the launches."""
        name = self.file.stem
        usual = {"title": name, "launches": 1, "extra_launches": 0, "time_limit_minutes": 24 * 60}
        chosen = {key: data.get(key, default) for key, default in usual.items()}
        if fault := records.first_fault("campaign", {"name": name, **chosen}):
            line = self._line(fault.where, 0) if fault.where in data else None
            raise UserError(f"{fault.where}: {fault.told}", self.file, line)
        return chosen

    def _check(self, table: dict[str, Any], start: int) -> CheckPlan:
        self._known_keys(
            table, {"name", "toolchains", "partitions", "parameters", "variables"}, start
        )
        if not isinstance(table.get("name"), str):
            raise UserError("a [[check]] needs a name, the ReFrame check to run", self.file, start)
        parameters = self._table(table, "parameters", start)
        variables = self._table(table, "variables", start)
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

    def _table(self, data: dict[str, Any], key: str, start: int) -> dict[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            raise UserError(f"{key} must be a table", self.file, self._line(key, start))
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
    """A TOML value as ReFrame writes it in names and reads it on its command line."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return ",".join(_as_option(item) for item in value)
    return str(value)
