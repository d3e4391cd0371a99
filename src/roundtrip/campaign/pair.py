"""The campaign of ``roundtrip ab``: two toolchains, until they are told apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from roundtrip.campaign.matrix import Expected, Matrix, Skipped
from roundtrip.campaign.model import Campaign, CheckPlan
from roundtrip.errors import UserError

#: Rounds at most, whatever the budget.
MOST_ROUNDS = 200
_ASSIGNED = re.compile(r"(?P<key>\w+)=(?P<value>[^,]+)")


def name(base: str, new: str) -> str:
    """The campaign's name, by which its runs are found again."""
    return f"ab-{base}-{new}"


def checks(
    declared: Sequence[CheckPlan], asked: Sequence[str], variables: Sequence[str]
) -> tuple[CheckPlan, ...]:
    """The checks to launch.

    Parameters
    ----------
    declared
        Those of a campaign; all of them, if nothing is `asked`.
    asked
        ``NAME`` or ``NAME:parameter=value,...``, a parameter with several values as often.  What is
        not said stays as the campaign declares it for a check of that name.
    variables
        ``variable=value``, set for all checks.

    UserError for what cannot be read so.
    """
    plans = [_plan(spec, declared) for spec in asked] or list(declared)
    changes = {key: values[-1] for key, values in _assigned(variables, "--set").items()}
    return tuple(replace(plan, variables={**plan.variables, **changes}) for plan in plans)


def _plan(spec: str, declared: Sequence[CheckPlan]) -> CheckPlan:
    check, colon, told = spec.partition(":")
    known = next((plan for plan in declared if plan.name == check), CheckPlan(check, 0))
    parameters = _assigned(told.split(","), f"--checks {spec}") if colon else {}
    return replace(known, parameters={**known.parameters, **parameters})


def _assigned(items: Iterable[str], where: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for item in items:
        match = _ASSIGNED.fullmatch(item.strip())
        if not match:
            raise UserError(f"{where}: '{item}' is not of the form name=value")
        found[match["key"]] = (*found.get(match["key"], ()), match["value"])
    return found


def text(
    toolchains: tuple[str, str],
    plans: Sequence[CheckPlan],
    minutes: float,
    partitions: Sequence[str] = (),
    abba_seed: int | None = None,
) -> str:
    """The campaign's file: TOML, of which `model.load` makes the same checks again."""
    base, new = toolchains
    lines = [
        f"title = {json.dumps(f'{new} against {base}')}",
        f"launches = {MOST_ROUNDS} # at most: a run ends when it can tell, or its time is over",
        f"time_limit_minutes = {minutes:g}",
        "sequential = true",
        *([] if abba_seed is None else [f"abba_seed = {abba_seed}"]),
    ]
    for plan in plans:
        lines += ["", "[[check]]", f"name = {json.dumps(plan.name)}"]
        lines.append(f"toolchains = {json.dumps(list(toolchains))}")
        if places := list(partitions) or list(plan.partitions or ()):
            lines.append(f"partitions = {json.dumps(places)}")
        chosen = {key: list(values) for key, values in plan.parameters.items()}
        lines += [f"{key} = {_table(told)}" for key, told in _tables(chosen, plan.variables)]
    return "\n".join(lines) + "\n"


def _tables(
    parameters: Mapping[str, object], variables: Mapping[str, object]
) -> Iterable[tuple[str, Mapping[str, object]]]:
    named = (("parameters", parameters), ("variables", variables))
    return ((key, told) for key, told in named if told)


def _table(told: Mapping[str, object]) -> str:
    pairs = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in told.items())
    return f"{{ {', '.join(pairs)} }}"


def written(folder: Path, toolchains: tuple[str, str], content: str) -> Path:
    """The file of the campaign in `folder`, under the campaign's name."""
    file = folder / f"{name(*toolchains)}.toml"
    file.write_text(content, encoding="utf-8")
    return file


def twins(plan: Matrix, campaign: Campaign) -> Matrix:
    """The cases that both toolchains can run; the others are skipped, with the reason.

    UserError if there is none, and for what is simulated.
    """
    if simulated := next((item for item in plan.expected if item.simulated), None):
        raise UserError(
            f"site '{simulated.case.system}' simulates: it gives the same values each time, so "
            "there is nothing to repeat until two are told apart; a campaign runs both"
        )
    alike: dict[tuple[object, ...], list[Expected]] = {}
    for item in plan.expected:
        case = item.case
        alike.setdefault((case.check, case.parameters, case.partition), []).append(item)
    both = [item for items in alike.values() if len(items) == 2 for item in items]
    alone = [item.case for items in alike.values() if len(items) < 2 for item in items]
    reason = "the other toolchain cannot run it: nothing to compare it with"
    skipped = (*plan.skipped, *(Skipped(case.id, reason) for case in alone))
    if not both:
        why = "; ".join(sorted({item.reason for item in plan.skipped})) or reason
        raise UserError(f"no case that both toolchains can run: {why}", campaign.file)
    return Matrix(tuple(both), skipped)
