"""The campaign of ``roundtrip ab``: two toolchains, interleaved until each claim has a verdict."""

from __future__ import annotations

import json
import random
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


def campaign_name(base: str, new: str) -> str:
    """The name of the campaign, below which its runs lie."""
    return f"ab-{base}-{new}"


def select_checks(
    declared: Sequence[CheckPlan], specs: Sequence[str], variables: Sequence[str]
) -> tuple[CheckPlan, ...]:
    """The checks to launch.

    Parameters
    ----------
    declared
        Those of a campaign; all of them are launched without `specs`.
    specs
        ``NAME`` or ``NAME:parameter=value,...``, a parameter with several values as often.  Other
        parameters stay as the campaign declares them for a check of that name.
    variables
        ``variable=value``, set for all checks.

    UserError for another form.
    """
    plans = [_plan(spec, declared) for spec in specs] or list(declared)
    changes = {key: values[-1] for key, values in _assigned(variables, "--set").items()}
    return tuple(replace(plan, variables={**plan.variables, **changes}) for plan in plans)


def _plan(spec: str, declared: Sequence[CheckPlan]) -> CheckPlan:
    check, colon, parameters = spec.partition(":")
    known = next((plan for plan in declared if plan.name == check), CheckPlan(check, 0))
    changes = _assigned(parameters.split(","), f"--checks {spec}") if colon else {}
    return replace(known, parameters={**known.parameters, **changes})


def _assigned(items: Iterable[str], where: str) -> dict[str, tuple[str, ...]]:
    values: dict[str, tuple[str, ...]] = {}
    for item in items:
        match = _ASSIGNED.fullmatch(item.strip())
        if not match:
            raise UserError(f"{where}: '{item}' is not of the form name=value")
        values[match["key"]] = (*values.get(match["key"], ()), match["value"])
    return values


def campaign_text(
    toolchains: tuple[str, str],
    plans: Sequence[CheckPlan],
    minutes: float,
    partitions: Sequence[str] = (),
    abba_seed: int | None = None,
) -> str:
    """The campaign's file: TOML, from which `model.load_campaign` reads the same checks."""
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
        parameters = {key: list(values) for key, values in plan.parameters.items()}
        tables = (("parameters", parameters), ("variables", plan.variables))
        lines += [f"{name} = {_inline_table(table)}" for name, table in tables if table]
    return "\n".join(lines) + "\n"


def _inline_table(table: Mapping[str, object]) -> str:
    pairs = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items())
    return f"{{ {', '.join(pairs)} }}"


def write_campaign(folder: Path, toolchains: tuple[str, str], content: str) -> Path:
    """The file of the campaign in `folder`, under the campaign's name."""
    file = folder / f"{campaign_name(*toolchains)}.toml"
    file.write_text(content, encoding="utf-8")
    return file


def shared_cases(plan: Matrix, campaign: Campaign) -> Matrix:
    """The cases that both toolchains can run; the others are skipped, with the reason.

    UserError if there is none, and for what is simulated.
    """
    if simulated := next((item for item in plan.expected if item.simulated), None):
        raise UserError(
            f"site '{simulated.case.system}' simulates: it gives the same values each time, so "
            "there is nothing to repeat until two differ; a campaign runs both"
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


def abba_order(wanted: Sequence[Expected], seed: int, number: int) -> list[list[Expected]]:
    """The cases of round `number`, from 1 on, by toolchain, in the order to launch them.

    Two rounds, 1 and 2, then 3 and 4, share a coin: AB BA or BA AB, so that a steady drift leaves
    their mean ratio as it is.  The coins follow from a seed in the campaign's file, so a resumed
    run goes on with them, whatever rounds it lost.
    """
    environs = sorted({item.case.environ for item in wanted})
    coin = random.Random(f"{seed} {(number + 1) // 2}").random() < 0.5  # noqa: S311  no secret
    if coin == (number % 2 == 0):
        environs.reverse()
    return [[item for item in wanted if item.case.environ == one] for one in environs]
