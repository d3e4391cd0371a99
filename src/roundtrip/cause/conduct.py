"""Runs a search: its folder, the forecast before it begins, its launches, and its report."""

from __future__ import annotations

import fcntl
import math
import secrets
import shutil
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from roundtrip import files, paths
from roundtrip.campaign.tree import revision
from roundtrip.cause import journal
from roundtrip.cause.facts import Causes
from roundtrip.cause.journal import Journal, Launcher, Plan
from roundtrip.cause.order import Changes
from roundtrip.cause.questions import normal, simulate
from roundtrip.cause.steps import SeriesStep, search_name
from roundtrip.errors import UserError, printable, writing

#: Number of simulated searches for a forecast, and maximum number of launches of each.
_SIMULATIONS, _MOST = 3, 3000
Tell = Callable[[str], None]


def now() -> str:
    """The current UTC time, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plan_blame(step: SeriesStep, site: str) -> Plan:
    """The plan of a new search for the cause of a step."""
    return Plan(
        kind="blame",
        title=step.title,
        measures=step.label[:1000],
        name=search_name(step.campaign),
        site=site,
        started=now(),
        seed=secrets.randbits(32),
        arms=[printable(switch.name)[:1000] for switch in step.switches],
        step=step.log_ratio,
        others=[[name[:1000], test] for name, test in step.others],
    )


def require_budget(minutes: float, launch_s: float, launches_a_round: int) -> None:
    """UserError if `minutes` are too few to decide anything by launches of `launch_s` seconds."""
    count = journal.MIN_SEARCH_ROUNDS * launches_a_round
    journal.require_budget(minutes, count, launch_s, f"a launch takes {launch_s:.3g} s")


def is_begun(plan: Plan) -> bool:
    """Whether the newest search has the title and arms of `plan`, and a round; an ended one has a
    report.

    Launches that failed at once may have ended a search without a round: it is begun anew.
    """
    newest = _newest_journal(plan)
    if newest is None:
        return False
    saved_plan = newest.read()
    is_same = (saved_plan.title, saved_plan.arms) == (plan.title, plan.arms)
    return is_same and journal.has_round(newest.entries)


def _newest_journal(plan: Plan) -> Journal | None:
    plan_files = sorted((paths.runs() / plan.name / plan.site).glob(f"*/{journal.PLAN}"))
    return Journal(plan_files[-1].parent) if plan_files else None


def open_journal(plan: Plan, resume: bool) -> tuple[Plan, Journal]:
    """The plan and journal of a new search or, with `resume`, of the newest search of that name.

    UserError if there is none to resume, or if its plan differs from `plan`.
    """
    place = paths.runs() / plan.name / plan.site
    if not resume:
        new_journal = Journal(place / plan.started.replace("-", "").replace(":", ""))
        with writing(place):
            new_journal.begin(plan)
        return plan, new_journal
    newest = _newest_journal(plan)
    if newest is None:
        raise UserError(f"no search '{plan.name}' on site '{plan.site}' to resume", place)
    saved_plan = newest.read()
    # A later night estimates the same step anew; an older plan has no digest.
    free_fields = [
        *("seed", "started"),
        *(("step", "others") if plan.kind == "blame" else ()),
        *(() if saved_plan.digest else ("digest",)),
    ]
    overrides = {name: getattr(saved_plan, name) for name in free_fields}
    if plan.model_copy(update=overrides) != saved_plan:
        raise UserError(
            "this search began with other arguments; start a new one", newest.folder / journal.PLAN
        )
    return saved_plan, newest


def forecast(plan: Plan, noise: float, log_ratio: float) -> str:
    """A sentence with the expected number of launches of a search: the median of simulated searches
    with normal noise of standard deviation `noise` and a step of `log_ratio`, both in logarithms.
    """
    rng = np.random.default_rng(plan.seed)

    def effect(arm: Hashable) -> float:
        if isinstance(arm, int):
            return log_ratio * (arm >= len(plan.arms) // 2)
        return log_ratio * (isinstance(arm, frozenset) and plan.arms[0] in arm)

    counts = [
        simulate(plan.search(), effect, normal(noise), rng, _MOST).launches
        for _ in range(_SIMULATIONS)
    ]
    median = int(np.median(counts))
    count = f"about {median}" if median < _MOST else f"more than {_MOST}"
    halvings = math.ceil(math.log2(max(2, len(plan.arms) - 1)))
    builds = f" and {2 + halvings} versions" if plan.kind == "bisect" else ""
    size = 100 * math.expm1(abs(log_ratio))
    return (
        f"expected: {count} launches{builds}, if the step is {size:.3g} % and launches scatter by "
        f"{100 * noise:.3g} %"
    )


def conduct(
    plan: Plan, search_journal: Journal, launcher: Launcher, minutes: float, tell: Tell
) -> Causes | Changes:
    """Search by at most `minutes` of launches; return the result, or raise KeyboardInterrupt.

    UserError if another process does.
    """
    folder = search_journal.folder
    with (folder / "lock").open("w") as lock, writing(folder):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError("this search is running already", folder) from None
        return journal.run_search(plan, search_journal, launcher, minutes, tell)


def publish(search_journal: Journal, tell: Tell) -> Path:
    """Publish the report of a search; return the path of its page."""
    from roundtrip.cause import page
    from roundtrip.report import publish as reports

    with writing(search_journal.folder):
        target = files.partial_folder(search_journal.folder)
        try:
            page.make_bundle(
                search_journal.folder, target, now(), revision(paths.checkout()).commit
            )
            return reports.publish(target, paths.reports(), tell=tell) / reports.PAGE
        finally:
            shutil.rmtree(target, ignore_errors=True)
