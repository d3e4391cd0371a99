"""A step in the nights of a site: the facts that differ, the facts among them that can be
switched from here, and tests for the others."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from roundtrip.cause.journal import Plan, has_round, now, read_entries, read_plan
from roundtrip.content import data, nights
from roundtrip.content.nights import JudgedSeries
from roundtrip.content.series import NODE_SET_FACT, NOT_RECORDED_VALUE, FactChange
from roundtrip.errors import UserError, printable
from roundtrip.history import annotations as remarks
from roundtrip.history import ledger, published
from roundtrip.history.facts import LAUNCHER_OPTIONS_FACT
from roundtrip.measure import analysis, reader, store
from roundtrip.measure.disclosure import DIGEST_PATTERN
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN
from roundtrip.stats.nights.verdicts import Verdict
from roundtrip.stats.summaries import robust_sd

#: Names of facts that are environment variables: of a toolchain, of a partition, of the user.
_VARIABLE = re.compile(
    r"variable (?P<own>\w+)|(?P<partition>[A-Z_]\w*) of partition .+|(?P<user>\w+) of the user"
)
#: Matches a value that is known only by its digest, and so cannot be set.
_DIGEST = re.compile(
    rf"\.\.\. \([0-9a-f]{{12}}\)$|^sha256:|withheld|(?:^| ){DIGEST_PATTERN}(?: |$)"
)
_PSEUDONYM_LIST_PATTERN = re.compile(rf"{PSEUDONYM_PATTERN}(?:, {PSEUDONYM_PATTERN})*")
#: A fact that changes with any other setting of the site, and one that changes with the launcher's
#: options, or with a variable that binds ranks.
_CONFIGURATION, _BINDING = "site configuration", "binding"
_MAX_LABELS = 4
#: The variable of a switch between two toolchains.
TOOLCHAIN = "toolchain"
_INSTALL = (
    "install the old one as a toolchain of its own, and search again with --old-toolchain NAME"
)
#: Tests of a fact, each with words in its name, separated by ``|``.
_TESTS = {
    "mpi|boost|compiler|flags|spack|ucx|libfabric|rdma|pmix|hwloc|gcc": _INSTALL,
    "kernel|microcode|firmware|clock source|mitigation|distribution": (
        "boot one node with the old one, and compare it with the others: roundtrip nodes"
    ),
    NODE_SET_FACT: "launch when the nodes of before are in use: roundtrip blame, roundtrip nodes",
    "checkout|tool ": "check the old commit out, and run the campaign from there",
    f"launcher|{_BINDING}": (
        "launch once more with the old options of the launcher, and compare: roundtrip compare"
    ),
}
_DEFAULT_TEST = "set it back for a night, and run the campaign"


@dataclass(frozen=True)
class Switch:
    """A variable with its old and its new value; None where it is not set.

    `variable` may be `NODE_SET_FACT`, with pseudonyms of nodes as values; `TOOLCHAIN`, with names
    of toolchains; or `LAUNCHER_OPTIONS_FACT`.
    """

    variable: str
    old: str | None
    new: str | None

    def value(self, arm: Hashable) -> str | None:
        """The value in `arm`, the set of the names of switches that are new."""
        return self.new if isinstance(arm, frozenset) and self.name in arm else self.old

    @property
    def name(self) -> str:
        """``OMPI_MCA_btl_tcp_eager_limit not set → 4096``."""
        old, new = (
            NOT_RECORDED_VALUE if value is None else value for value in (self.old, self.new)
        )
        return f"{self.variable} {old} \N{RIGHTWARDS ARROW} {new}"


@dataclass(frozen=True)
class SeriesStep:
    """A step at `night` in a series of `campaign`; `log_ratio` of times, positive if slower."""

    campaign: str
    series: JudgedSeries
    night: str
    log_ratio: float
    noise: float
    switches: tuple[Switch, ...]
    others: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        return printable(" ".join(self.series.full_title.split()))

    @property
    def title(self) -> str:
        return f"What changed {self.label} on {self.night[:10]}?"[:1000]


def without_nodes(step: SeriesStep) -> SeriesStep:
    """The step without the switch of node sets, which becomes a fact that cannot be switched."""
    switches = tuple(switch for switch in step.switches if switch.variable != NODE_SET_FACT)
    test = _test(FactChange("", NODE_SET_FACT, "", ""))
    others = [(switch.name, test) for switch in step.switches if switch.variable == NODE_SET_FACT]
    return replace(step, switches=switches, others=(*step.others, *others))


def with_toolchain(step: SeriesStep, old: str) -> SeriesStep:
    """The step with a switch from toolchain `old`, which the series had before the step.

    The switch replaces all facts whose test is to install the old one.  UserError if there are
    none, or if `old` is the toolchain of the series.
    """
    new = str(step.series.data.identity["case_id"]).rpartition("+")[2]
    others = tuple(fact for fact in step.others if fact[1] != _INSTALL)
    if old == new or others == step.others:
        reason = "it is the one of this series" if old == new else f"nothing of {new} differs"
        raise UserError(f"--old-toolchain {old}: {reason} since {step.night[:10]}")
    return replace(step, switches=(*step.switches, Switch(TOOLCHAIN, old, new)), others=others)


def plan_blame(step: SeriesStep, site: str) -> Plan:
    """The plan of a new search for the cause of a step."""
    return Plan(
        kind="blame",
        title=step.title,
        measures=step.label[:1000],
        name=store.search_name(step.campaign),
        site=site,
        started=now(),
        seed=secrets.randbits(32),
        arms=[printable(switch.name)[:1000] for switch in step.switches],
        step=step.log_ratio,
        others=[[name[:1000], test] for name, test in step.others],
    )


def find(site: str, text: str, night: str, campaign: str | None, reports: Path) -> SeriesStep:
    """The step on date `night`, by default the newest, of the series whose name has `text` in it.

    UserError for no such series or step, several series with steps, or contradictory facts.
    """
    judged_series = list(_judged_series(site, text, campaign, reports))
    if not judged_series:
        raise UserError(f"no series of site '{site}' has {text!r} in its name", reports)
    candidates = [
        (name, series, series_steps)
        for name, series, calendar in judged_series
        if (series_steps := _steps(series, calendar))
    ]
    if not candidates:
        raise UserError(
            f"no step in {printable(judged_series[0][1].full_title)}: nothing to explain"
        )
    if len(candidates) > 1:
        labels = "; ".join(
            printable(series.full_title) for _, series, _ in candidates[:_MAX_LABELS]
        )
        raise UserError(
            f"{len(candidates)} series with a step have {text!r} in their name: {labels}"
        )
    name, series, steps = candidates[0]
    matches = [step for step in steps if step[0].startswith(night)]
    if not matches:
        dates = ", ".join(step[0][:10] for step in steps)
        raise UserError(f"--night {night}: no step began then; right is one of: {dates}")
    return _series_step(name, series, matches[-1])


def largest_unexplained(
    site: str, campaign: str, confirmed_keys: Collection[str], reports: Path
) -> SeriesStep | None:
    """The largest step of a campaign that a search can explain and that has no search yet, if any.

    A search without a completed round, because of an outage, is none.
    It is worse, nobody accepted it, and nights or launches of the last night (its key is in
    `confirmed_keys`) confirmed it; a fact that can be switched from here changed with it.
    """
    searches = store.site_folder(reports, store.search_name(campaign), site)
    titles = {
        read_plan(bundle).title
        for bundle in map(store.bundle_folder, store.all_revisions(searches))
        if store.is_search_bundle(bundle) and has_round(read_entries(bundle))
    }
    candidates = []
    for name, series, calendar in _judged_series(site, "", campaign, reports):
        judgement = series.judgement
        is_sure = judgement.verdict is Verdict.REGRESSED or (
            judgement.verdict is Verdict.WORSE_LAST_NIGHT and series.data.key in confirmed_keys
        )
        if not (judgement.is_alarm and is_sure and (steps := _steps(series, calendar))):
            continue
        try:
            candidate = _series_step(name, series, steps[-1])
        except UserError:  # its facts contradict each other
            continue
        if candidate.switches and candidate.title not in titles:
            candidates.append(candidate)
    return max(candidates, key=lambda candidate: abs(candidate.log_ratio), default=None)


#: First night of a step, its ratio, and the facts that changed.
_Step = tuple[str, float, Sequence[FactChange]]


def _steps(series: JudgedSeries, calendar: Sequence[str]) -> list[_Step]:
    """The change points of a series, and the last night if it was worse."""
    pairs = zip(series.history.steps, series.changes_by_step, strict=True)
    steps: list[_Step] = [(calendar[point.night], point.ratio, causes) for point, causes in pairs]
    newest = series.judgement.newest_night
    return [*steps, (calendar[-1], newest.ratio, series.changes)] if newest else steps


def _series_step(campaign: str, series: JudgedSeries, step: _Step) -> SeriesStep:
    night, ratio, changes = step
    size = math.log(ratio) if series.data.lower_is_better else -math.log(ratio)
    switches, others = split(changes)
    # The standard deviation of nights, by differences of successive nights.
    logs = np.log([point.median for point in series.data.points if point.median > 0])
    noise = robust_sd(np.diff(logs)) / math.sqrt(2) if logs.size > 2 else 0.02
    return SeriesStep(campaign, series, night, size, noise, switches, others)


def launch_s(step: SeriesStep, site: str, reports: Path) -> float:
    """The median launch of its case in the newest night, s; 0 if unknown; UserError if damaged."""
    revisions = published.current_revisions(store.site_folder(reports, step.campaign, site))[0]
    if not revisions:
        return 0.0
    reader.require_decodable_bundle(revisions[-1].bundle)
    launches = data.read_bundle(revisions[-1].bundle).launches
    case_launches = launches.filter(pl.col("case_id") == step.series.data.identity["case_id"])
    duration = case_launches["elapsed_s"].median()
    return float(duration) if isinstance(duration, float) else 0.0


def _judged_series(
    site: str, text: str, campaign: str | None, reports: Path
) -> Iterator[tuple[str, JudgedSeries, Sequence[str]]]:
    notes = remarks.load_site_annotations(site)
    settings = analysis.load_site_settings(site).history
    for folder in store.site_folders(reports, campaign or None, site):
        _, name, _ = store.split_site_folder(folder)
        site_ledger = ledger.read_ledger(reports, name, site, notes)
        if site_ledger.nights.is_empty():
            continue
        verdicts = nights.judge_all_series(
            site_ledger.nights, site_ledger.provenance, settings, notes
        )
        for series in verdicts.judged_series:
            if text.casefold() in " ".join(series.full_title.split()).casefold():
                yield name, series, verdicts.calendar.nights


def split(changes: Sequence[FactChange]) -> tuple[tuple[Switch, ...], tuple[tuple[str, str], ...]]:
    """Split changes into switches, and other facts with tests; UserError if they contradict."""
    switches: dict[str, Switch] = {}
    others: list[tuple[str, str]] = []
    for change in changes:
        if change.name == NODE_SET_FACT and all(
            map(_PSEUDONYM_LIST_PATTERN.fullmatch, (change.before, change.after))
        ):
            switches[NODE_SET_FACT] = Switch(NODE_SET_FACT, change.before, change.after)
            continue
        match = _VARIABLE.fullmatch(change.name)
        is_settable = match or change.name == LAUNCHER_OPTIONS_FACT
        if not is_settable or any(map(_DIGEST.search, (change.before, change.after))):
            others.append((printable(str(change)), _test(change)))
            continue
        name = next(filter(None, match.groups())) if match else LAUNCHER_OPTIONS_FACT
        old, new = (
            None if value == NOT_RECORDED_VALUE else value
            for value in (change.before, change.after)
        )
        switch = Switch(name, old, new)
        if switches.setdefault(name, switch) != switch:
            raise UserError(
                f"facts contradict each other: {switches[name].name}, and {switch.name}"
            )
    dependents = (_CONFIGURATION,) if switches else ()
    if any(
        variable == LAUNCHER_OPTIONS_FACT or "BIND" in variable.upper() for variable in switches
    ):
        dependents = (*dependents, _BINDING)
    others = [fact for fact in others if not fact[0].startswith(dependents)]
    return tuple(switches.values()), tuple(others)


def _test(change: FactChange) -> str:
    name = change.name.casefold()
    tests = (test for words, test in _TESTS.items() if re.search(words, name))
    return next(tests, _DEFAULT_TEST)
