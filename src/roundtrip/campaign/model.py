"""A campaign as declared: which checks, with which parameters, how many launches.

A campaign file is TOML::

    title = "..."                 # one line for people
    launches = 9                  # launches of each case; `--dry-run` says how many claims need
    extra_launches = 2            # at most so many more of a case whose launches were disturbed
    time_limit_minutes = 30       # of launching, not of building: no round starts after this
    sequential = true             # written by `roundtrip ab`: launches end when they tell enough,
                                  # and claims are judged by a test that is valid then

    [[check]]
    name = "..."                  # a ReFrame check
    toolchains = ["..."]          # ReFrame environments; all that the site has by default
    partitions = ["..."]          # all by default
    parameters = { mode = ["pingpong"] }   # all values of a parameter not named here
    variables = { budget = 4 }    # the check's variables, as with `reframe -S`
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from roundtrip import tables
from roundtrip.collect import records, shapes
from roundtrip.errors import UserError
from roundtrip.tables import Places, Strings, Table

_Names = Annotated[Strings, Field(min_length=1)]


def _plain(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("plain", "input should be a text or a number")
    return value


_Values = Annotated[
    tuple[Annotated[Any, AfterValidator(_plain)], ...], Field(strict=False, min_length=1)
]
#: What the collector accepts after the launches is what may be declared before them.
_Few = Annotated[int, Field(ge=0, le=shapes.MOST_FEW)]


class _CheckTable(Table):
    name: str = ""
    toolchains: _Names | None = None
    partitions: _Names | None = None
    parameters: dict[str, _Values] = Field(default_factory=dict)
    variables: dict[str, Any] = Field(default_factory=dict)


class _File(Table):
    title: Annotated[str, Field(max_length=200)] | None = None
    launches: Annotated[_Few, Field(ge=1)] = 1
    extra_launches: _Few = 0
    time_limit_minutes: Annotated[float, Field(gt=0, le=366 * 24 * 60)] = 24 * 60
    sequential: bool = False
    check: Annotated[tuple[_CheckTable, ...], Field(strict=False)] = ()


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
    data, places = tables.read(file)
    declared = tables.validate(data, _File, places, file)
    name = file.stem
    if fault := records.first_fault("campaign", {"name": name}):
        raise UserError(f"{fault.where}: {fault.told}", file)
    if not declared.check:
        raise UserError("no [[check]] table: a campaign must run something", file)
    return Campaign(
        name=name,
        file=file,
        title=name if declared.title is None else declared.title,
        launches=declared.launches,
        extra_launches=declared.extra_launches,
        time_limit_minutes=declared.time_limit_minutes,
        checks=tuple(
            _plan(table, ("check", number), places, file)
            for number, table in enumerate(declared.check)
        ),
        launches_line=places[("launches",)][1] if ("launches",) in places else None,
    )


def _plan(table: _CheckTable, path: tables.Path_, places: Places, file: Path) -> CheckPlan:
    if not table.name:
        raise tables.fault("a [[check]] needs a name, the ReFrame check to run", path, places, file)
    chosen = table.parameters.items()
    return CheckPlan(
        name=table.name,
        line=places.get(path, (file, 0))[1],
        toolchains=table.toolchains,
        partitions=table.partitions,
        parameters={key: tuple(map(_as_option, values)) for key, values in chosen},
        variables={key: _as_option(value) for key, value in table.variables.items()},
    )


def _as_option(value: object) -> str:
    """A TOML value as ReFrame writes it in names and reads it on its command line."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return ",".join(_as_option(item) for item in value)
    return str(value)
