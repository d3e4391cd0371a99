"""Reads and writes campaign files: which checks, with which parameters, how many launches.

The keys of its file are those of `CampaignTable`, which docs/reference.md lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from roundtrip import tables
from roundtrip.errors import UserError
from roundtrip.model import NAME_RULE, SmallCount, StrictRecord, is_name
from roundtrip.sites.toolchains.spec import SMOKE_CAMPAIGN, read_catalogue
from roundtrip.tables import KeyLines, TextList

#: Maximum number of rounds of `roundtrip ab`, for any budget.
MAX_AB_ROUNDS = 200
_ASSIGNMENT_PATTERN = re.compile(r"(?P<key>\w+)=(?P<value>.+)")
_DURATION_PATTERN = re.compile(
    r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m)?(?:(?P<s>\d+)s)?"
)
#: The form of a text that `parse_minutes` reads.
DURATION_FORM = "a time such as 90s, 20m or 1h30m, at most a week"


_NameTuple = Annotated[TextList, Field(min_length=1)]


def _require_scalar(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("plain", "input should be a text or a number")
    return value


def _require_scalar_or_list(value: object) -> object:
    for item in value if isinstance(value, list) else (value,):
        _require_scalar(item)
    return value


_Scalar = Annotated[Any, AfterValidator(_require_scalar)]
_ValueTuple = Annotated[tuple[_Scalar, ...], Field(strict=False, min_length=1)]


#: Keys of a campaign's file by their former names, which are read with a warning.
KEY_BY_FORMER_NAME = {"allow_untold": "allow_undecided"}


class CheckTable(StrictRecord):
    """A table ``[[check]]`` of a campaign's file."""

    name: str = Field("", description="a ReFrame check; required")
    toolchains: _NameTuple | None = Field(
        None,
        description="ReFrame environments, or `smoke`: those of campaign `smoke`; all by default",
    )
    partitions: _NameTuple | None = Field(None, description="all by default")
    parameters: dict[str, _ValueTuple] = Field(
        default_factory=dict,
        description='as `{ mode = ["pingpong"] }`; a parameter that is not named takes all values',
    )
    variables: dict[str, Annotated[Any, AfterValidator(_require_scalar_or_list)]] = Field(
        default_factory=dict,
        description="variables of the check, as with `reframe -S`: `{ budget = 4 }`",
    )


class CampaignTable(StrictRecord):
    """A campaign's file."""

    title: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="one line for people; the name of the file by default"
    )
    launches: Annotated[SmallCount, Field(ge=1)] = Field(
        1, description="launches of each case; `--dry-run` says how many the claims need"
    )
    extra_launches: SmallCount = Field(
        0, description="maximum of additional launches of a case with disturbed launches"
    )
    time_limit_minutes: Annotated[float, Field(gt=0, le=366 * 24 * 60)] = Field(
        24 * 60, description="limit of launching, without building: no round starts after it"
    )
    confirm: str | None = Field(
        None,
        description="a time such as `30m`: series worse last night are launched again, for at "
        "most this time, within the time limit",
    )
    blame: str | None = Field(
        None,
        description="a time such as `2h`: after a night, launches search for the cause of the "
        "largest confirmed step, for at most this time; not within the time limit",
    )
    sequential: bool = Field(
        False,
        description="launches end when the claims are decided; `roundtrip ab` writes it",
    )
    allow_undecided: bool = Field(False, description="exit status 0 even if nothing can be decided")
    abba_seed: Annotated[int, Field(ge=0)] | None = Field(
        None, description="the seed of the coins; `roundtrip ab --order abba` writes it"
    )
    nodes: Literal["all"] | None = Field(
        None,
        description="`all`: checks of two nodes run on pairs of all nodes of a partition, "
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


@dataclass(frozen=True)
class CheckPlan:
    """A ``[[check]]`` table of a campaign, at `line`; None: all that the site has."""

    name: str
    line: int
    toolchains: tuple[str, ...] | None = None
    partitions: tuple[str, ...] | None = None
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """A campaign file, validated as far as that is possible without a site.

    `launches_line` and `nodes_line` are the lines of the keys ``launches`` and ``nodes``, None
    without the key; `warnings` are about former names of keys.
    """

    name: str
    file: Path
    title: str
    launches: int
    extra_launches: int
    time_limit_minutes: float
    checks: tuple[CheckPlan, ...]
    launches_line: int | None = None
    nodes_line: int | None = None
    rounds_a_night: int | None = None
    abba_seed: int | None = None
    confirm_minutes: float | None = None
    blame_minutes: float | None = None
    allow_undecided: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def is_round_robin(self) -> bool:
        """Whether ``nodes = "all"``: launches run on all pairs of nodes, and on each node."""
        return self.nodes_line is not None

    def fault(self, message: str, plan: CheckPlan) -> UserError:
        """Return a UserError with `message` at the line of the ``[[check]]`` table of `plan`."""
        return UserError(message, self.file, plan.line)


def find_campaign(name: str, folder: Path) -> Campaign:
    """Read the campaign `name`: a name in `folder`, or a path to a TOML file.

    UserError for an unknown name, or, with the line, for an invalid file.
    """
    if name.endswith(".toml"):
        return load_campaign(Path(name))
    path = folder / f"{name}.toml"
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise UserError(f"unknown campaign '{name}'; there are: {names}")
    return load_campaign(path)


def load_campaign(file: Path) -> Campaign:
    """Read and validate a campaign file; UserError with file and line if it is not one."""
    data, key_lines = tables.read_toml(file)
    warnings = tuple(_rename_former_keys(data, key_lines, file))
    campaign = tables.validate_table(data, CampaignTable, key_lines, file)
    name = file.stem
    if not is_name(name):
        raise UserError(f"name: right is {NAME_RULE}, not {name!r:.60}", file)
    _require_key_combinations(campaign, key_lines, file)
    if not campaign.check:
        raise UserError("no [[check]] table: a campaign must run something", file)
    checks = tuple(
        _make_check_plan(table, ("check", number), key_lines, file)
        for number, table in enumerate(campaign.check)
    )
    confirm_minutes = _minutes_of_key("confirm", campaign.confirm, key_lines, file)
    if confirm_minutes is not None and confirm_minutes > campaign.time_limit_minutes:
        limit = f"time_limit_minutes = {campaign.time_limit_minutes:g}"
        message = f"confirm: a part of {limit}, not {campaign.confirm!r:.60}, which is longer"
        raise tables.error_at_key(message, ("confirm",), key_lines, file)
    return Campaign(
        name=name,
        file=file,
        title=name if campaign.title is None else campaign.title,
        launches=campaign.launches,
        extra_launches=campaign.extra_launches,
        time_limit_minutes=campaign.time_limit_minutes,
        checks=checks,
        launches_line=key_lines.get(("launches",), (file, None))[1],
        nodes_line=key_lines.get(("nodes",), (file, None))[1],
        rounds_a_night=campaign.rounds_a_night,
        abba_seed=campaign.abba_seed,
        confirm_minutes=confirm_minutes,
        blame_minutes=_minutes_of_key("blame", campaign.blame, key_lines, file),
        allow_undecided=campaign.allow_undecided,
        warnings=warnings,
    )


def _rename_former_keys(data: dict[str, Any], key_lines: KeyLines, file: Path) -> Iterator[str]:
    """Rename former keys of `data`, and yield a warning for each; UserError if both are given."""
    for former, key in KEY_BY_FORMER_NAME.items():
        if former not in data:
            continue
        if key in data:
            message = f"{former}: is the former name of {key}, which is given too: remove it"
            raise tables.error_at_key(message, (former,), key_lines, file)
        data[key] = data.pop(former)
        key_lines[(key,)] = key_lines[(former,)]
        yield f"{file}:{key_lines[(key,)][1]}: {former} is called {key} now"


def parse_minutes(text: str) -> float | None:
    """Parse ``90s``, ``1h30m`` to minutes; None for another form, 0, or more than a week."""
    match = _DURATION_PATTERN.fullmatch(text.strip())
    hours, minutes, seconds = (float(part or 0) for part in match.groups()) if match else (0, 0, 0)
    total = 60 * hours + minutes + seconds / 60
    return total if 0 < total <= 7 * 24 * 60 else None


def _minutes_of_key(key: str, text: str | None, key_lines: KeyLines, file: Path) -> float | None:
    """Parse the duration `text` of `key` to minutes; None for None, UserError for another form."""
    minutes = parse_minutes(text) if text is not None else None
    if text is not None and minutes is None:
        raise tables.error_at_key(
            f"{key}: {DURATION_FORM}, not {text!r:.60}", (key,), key_lines, file
        )
    return minutes


def _require_key_combinations(campaign: CampaignTable, key_lines: KeyLines, file: Path) -> None:
    """UserError for a key without another that it needs, or beside one that excludes it."""

    def fault(key: str, reason: str) -> UserError:
        return tables.error_at_key(f"{key} is {reason}", (key,), key_lines, file)

    if campaign.abba_seed is not None and not campaign.sequential:
        raise fault("abba_seed", "for a run of `roundtrip ab`: add sequential = true")
    for key in ("confirm", "blame"):
        if getattr(campaign, key) is not None and campaign.sequential:
            raise fault(key, "not for a run of `roundtrip ab`, which is no night")
    if campaign.nodes is None:
        if campaign.rounds_a_night is not None:
            raise fault("rounds_a_night", 'for pairs of nodes: add nodes = "all"')
        return
    for key in ("extra_launches", "sequential", "confirm", "blame"):
        if getattr(campaign, key):
            raise fault(key, 'not for nodes = "all": a pair is launched again in a later night')


def _make_check_plan(
    table: CheckTable, path: tables.KeyPath, key_lines: KeyLines, file: Path
) -> CheckPlan:
    if not table.name:
        raise tables.error_at_key(
            "a [[check]] needs a name, the ReFrame check to run", path, key_lines, file
        )
    toolchains = table.toolchains
    if toolchains and SMOKE_CAMPAIGN in toolchains:
        smoke = read_catalogue().smoke_names
        groups = (smoke if name == SMOKE_CAMPAIGN else [name] for name in toolchains)
        toolchains = tuple(dict.fromkeys(name for group in groups for name in group))
    return CheckPlan(
        name=table.name,
        line=key_lines.get(path, (file, 0))[1],
        toolchains=toolchains,
        partitions=table.partitions,
        parameters={
            key: tuple(map(_reframe_text, values)) for key, values in table.parameters.items()
        },
        variables={key: _reframe_text(value) for key, value in table.variables.items()},
    )


def _reframe_text(value: object) -> str:
    """Return a TOML value as ReFrame writes it in test names and reads it on its command line."""
    return ",".join(map(_reframe_text, value)) if isinstance(value, list) else str(value)


def ab_campaign_name(base: str, new: str) -> str:
    """Return the name of the campaign by which ``roundtrip ab`` compares two toolchains."""
    return f"ab-{base}-{new}"


def select_checks(
    campaign_plans: Sequence[CheckPlan], specs: Sequence[str], variables: Sequence[str]
) -> tuple[CheckPlan, ...]:
    """Return the checks that ``roundtrip ab`` launches: those of `specs`, else `campaign_plans`.

    A spec is ``NAME`` or ``NAME:parameter=value,...``; a parameter is repeated for several values,
    and parameters that are not named keep the campaign's values.  `variables` are
    ``variable=value``, set for all checks; a list has commas.  UserError for another form.
    """
    plans = []
    for spec in specs:
        check, colon, words = spec.partition(":")
        plan = next((plan for plan in campaign_plans if plan.name == check), CheckPlan(check, 0))
        parameters = _parse_assignments(words.split(","), f"--checks {spec}") if colon else {}
        plans.append(replace(plan, parameters={**plan.parameters, **parameters}))
    changes = {key: values[-1] for key, values in _parse_assignments(variables, "--set").items()}
    return tuple(
        replace(plan, variables={**plan.variables, **changes}) for plan in plans or campaign_plans
    )


def _parse_assignments(items: Iterable[str], option: str) -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = {}
    for item in items:
        match = _ASSIGNMENT_PATTERN.fullmatch(item.strip())
        if not match:
            raise UserError(f"{option}: '{item}' is not of the form name=value")
        values[match["key"]] = (*values.get(match["key"], ()), match["value"])
    return values


def ab_campaign_toml(
    toolchains: tuple[str, str],
    plans: Sequence[CheckPlan],
    minutes: float,
    partitions: Sequence[str] = (),
    abba_seed: int | None = None,
) -> str:
    """Return the TOML of a campaign that compares `toolchains` in `minutes`, without building."""
    base, new = toolchains
    lines = [
        f"title = {json.dumps(f'{new} against {base}')}",
        f"launches = {MAX_AB_ROUNDS} # at most: a run ends when it can tell, or its time is over",
        f"time_limit_minutes = {minutes:g}",
        "sequential = true",
        *([] if abba_seed is None else [f"abba_seed = {abba_seed}"]),
    ]
    for plan in plans:
        lines += ["", "[[check]]", f"name = {json.dumps(plan.name)}"]
        lines.append(f"toolchains = {json.dumps(list(toolchains))}")
        if names := list(partitions) or list(plan.partitions or ()):
            lines.append(f"partitions = {json.dumps(names)}")
        parameters = {key: list(values) for key, values in plan.parameters.items()}
        for name, table in (("parameters", parameters), ("variables", plan.variables)):
            pairs = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())
            lines += [f"{name} = {{ {', '.join(pairs)} }}"] if table else []
    return "\n".join(lines) + "\n"


def write_ab_campaign(folder: Path, toolchains: tuple[str, str], content: str) -> Path:
    """Write `content`, the campaign that compares `toolchains`; return its path."""
    file = folder / f"{ab_campaign_name(*toolchains)}.toml"
    file.write_text(content, encoding="utf-8")
    return file
