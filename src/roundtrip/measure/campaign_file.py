"""A campaign as declared: which checks, with which parameters, how many launches.

The keys of its file are those of `measure.declared.CampaignTable`, which docs/reference.md lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from roundtrip import tables
from roundtrip.errors import UserError
from roundtrip.measure.declared import CampaignTable, CheckTable
from roundtrip.model import NAME_WORDS, is_name
from roundtrip.sites.toolchains.spec import SMOKE_CAMPAIGN, catalogue
from roundtrip.tables import Places

#: Maximum number of rounds of `roundtrip ab`, for any budget.
MAX_AB_ROUNDS = 200
_ASSIGNMENT = re.compile(r"(?P<key>\w+)=(?P<value>.+)")
_DURATION_PATTERN = re.compile(
    r"(?:(?P<h>\d+(?:\.\d+)?)h)?(?:(?P<m>\d+(?:\.\d+)?)m)?(?:(?P<s>\d+)s)?"
)
_MAX_HOURS = 7 * 24
#: The form of a text that `parse_minutes` reads.
DURATION = "a time such as 90s, 20m or 1h30m, at most a week"


@dataclass(frozen=True)
class CheckPlan:
    """A ``[[check]]`` table, which starts at `line`; None stands for all possible values."""

    name: str
    line: int
    toolchains: tuple[str, ...] | None = None
    partitions: tuple[str, ...] | None = None
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """A campaign file, validated as far as that is possible without a site.

    `launches_line` is the line of the key ``launches``, `nodes_line` that of ``nodes``; None
    without one.
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
    allow_untold: bool = False

    @property
    def in_pairs(self) -> bool:
        """Whether launches run on pairs of all nodes, and on each single node."""
        return self.nodes_line is not None

    def fault(self, message: str, plan: CheckPlan) -> UserError:
        """Return a UserError about the table of `plan`."""
        return UserError(message, self.file, plan.line)


def find_campaign(name: str, folder: Path) -> Campaign:
    """Read campaign `name`, which is a name in `folder` or a path to a TOML file.

    UserError as in `load_campaign`, or if there is no such file.
    """
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
        raise UserError(f"unknown campaign '{name}'; there are: {names}")
    return load_campaign(path)


def load_campaign(file: Path) -> Campaign:
    """Read and validate a campaign file; UserError with file and line if it is not one."""
    data, places = tables.read(file)
    campaign = tables.validate(data, CampaignTable, places, file)
    name = file.stem
    if not is_name(name):
        raise UserError(f"name: right is {NAME_WORDS}, not {name!r:.60}", file)
    _require_key_combinations(campaign, places, file)
    if not campaign.check:
        raise UserError("no [[check]] table: a campaign must run something", file)
    return Campaign(
        name=name,
        file=file,
        title=name if campaign.title is None else campaign.title,
        launches=campaign.launches,
        extra_launches=campaign.extra_launches,
        time_limit_minutes=campaign.time_limit_minutes,
        checks=tuple(
            _check_plan(table, ("check", number), places, file)
            for number, table in enumerate(campaign.check)
        ),
        launches_line=places.get(("launches",), (file, None))[1],
        nodes_line=places.get(("nodes",), (file, None))[1],
        rounds_a_night=campaign.rounds_a_night,
        abba_seed=campaign.abba_seed,
        confirm_minutes=_confirmation_minutes(campaign, places, file),
        blame_minutes=_minutes_of_key("blame", campaign.blame, places, file),
        allow_untold=campaign.allow_untold,
    )


def parse_minutes(text: str) -> float | None:
    """``90s``, ``20m``, ``1h30m`` in minutes; None for another form, 0, or more than a week."""
    match = _DURATION_PATTERN.fullmatch(text.strip())
    hours, minutes, seconds = (float(part or 0) for part in match.groups()) if match else (0, 0, 0)
    total = 60 * hours + minutes + seconds / 60
    return total if 0 < total <= 60 * _MAX_HOURS else None


def _minutes_of_key(key: str, text: str | None, places: Places, file: Path) -> float | None:
    """Return the time `text` of `key` in minutes; None for None, UserError for an illegal time."""
    minutes = parse_minutes(text) if text is not None else None
    if text is not None and minutes is None:
        raise tables.fault(f"{key}: {DURATION}, not {text!r:.60}", (key,), places, file)
    return minutes


def _confirmation_minutes(campaign: CampaignTable, places: Places, file: Path) -> float | None:
    """Return the minutes for confirmation; UserError for an illegal time, or above the limit."""
    minutes = _minutes_of_key("confirm", campaign.confirm, places, file)
    if minutes is not None and minutes > campaign.time_limit_minutes:
        limit = f"time_limit_minutes = {campaign.time_limit_minutes:g}"
        message = f"confirm: a part of {limit}, not {campaign.confirm!r:.60}, which is longer"
        raise tables.fault(message, ("confirm",), places, file)
    return minutes


def _require_key_combinations(campaign: CampaignTable, places: Places, file: Path) -> None:
    """UserError for a key without a key that it requires, or with a key that excludes it."""

    def fault(key: str, reason: str) -> UserError:
        return tables.fault(f"{key} is {reason}", (key,), places, file)

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


def _check_plan(table: CheckTable, path: tables.KeyPath, places: Places, file: Path) -> CheckPlan:
    if not table.name:
        raise tables.fault("a [[check]] needs a name, the ReFrame check to run", path, places, file)
    return CheckPlan(
        name=table.name,
        line=places.get(path, (file, 0))[1],
        toolchains=_expand_smoke(table.toolchains),
        partitions=table.partitions,
        parameters={
            key: tuple(map(_option_text, values)) for key, values in table.parameters.items()
        },
        variables={key: _option_text(value) for key, value in table.variables.items()},
    )


def _expand_smoke(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Replace ``smoke`` in `names` by the toolchains that it means on this machine."""
    if names is None or SMOKE_CAMPAIGN not in names:
        return names
    smoke = catalogue().smoke
    all_names = (known for name in names for known in (smoke if name == SMOKE_CAMPAIGN else [name]))
    return tuple(dict.fromkeys(all_names))


def _option_text(value: object) -> str:
    """A TOML value as ReFrame writes it in names and reads it on its command line."""
    return ",".join(map(_option_text, value)) if isinstance(value, list) else str(value)


def campaign_name(base: str, new: str) -> str:
    """The name of the campaign of ``roundtrip ab``, and of the folder of its runs."""
    return f"ab-{base}-{new}"


def select_checks(
    campaign_plans: Sequence[CheckPlan], specs: Sequence[str], variables: Sequence[str]
) -> tuple[CheckPlan, ...]:
    """The checks that ``roundtrip ab`` launches.

    Parameters
    ----------
    campaign_plans
        The checks of a campaign; all are launched if `specs` is empty.
    specs
        ``NAME`` or ``NAME:parameter=value,...``; a parameter is repeated for several values.  Other
        parameters keep the campaign's values for a check of that name.
    variables
        ``variable=value``, set for all checks; the value may be a list with commas.

    UserError for a text of another form.
    """
    plans = [_plan_with_parameters(spec, campaign_plans) for spec in specs] or list(campaign_plans)
    changes = {key: values[-1] for key, values in _parse_assignments(variables, "--set").items()}
    return tuple(replace(plan, variables={**plan.variables, **changes}) for plan in plans)


def _plan_with_parameters(spec: str, plans: Sequence[CheckPlan]) -> CheckPlan:
    check, colon, parameters = spec.partition(":")
    plan = next((plan for plan in plans if plan.name == check), CheckPlan(check, 0))
    changes = _parse_assignments(parameters.split(","), f"--checks {spec}") if colon else {}
    return replace(plan, parameters={**plan.parameters, **changes})


def _parse_assignments(items: Iterable[str], option: str) -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = {}
    for item in items:
        match = _ASSIGNMENT.fullmatch(item.strip())
        if not match:
            raise UserError(f"{option}: '{item}' is not of the form name=value")
        values[match["key"]] = (*values.get(match["key"], ()), match["value"])
    return values


def campaign_text(
    toolchains: tuple[str, str],
    plans: Sequence[CheckPlan],
    minutes: float,
    partitions: Sequence[str] = (),
    abba_seed: int | None = None,
) -> str:
    """Return the campaign of ``roundtrip ab`` as TOML; `load_campaign` reads the same checks."""
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
        if places := list(partitions) or list(plan.partitions or ()):
            lines.append(f"partitions = {json.dumps(places)}")
        parameters = {key: list(values) for key, values in plan.parameters.items()}
        inline = (("parameters", parameters), ("variables", plan.variables))
        lines += [f"{name} = {_inline_table(table)}" for name, table in inline if table]
    return "\n".join(lines) + "\n"


def _inline_table(table: Mapping[str, object]) -> str:
    pairs = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())
    return f"{{ {', '.join(pairs)} }}"


def write_campaign(folder: Path, toolchains: tuple[str, str], content: str) -> Path:
    """Write the campaign that compares both toolchains into `folder`; return its file."""
    file = folder / f"{campaign_name(*toolchains)}.toml"
    file.write_text(content, encoding="utf-8")
    return file
