"""Launches the case of a step by ReFrame with the variables, launcher options, nodes and toolchain
of an arm.

Each arm has its own run tree below that of the search.  All launches in a run tree have the same
settings, so that the facts they report can be compared.  The job script sets the variables of an
arm after those of site and toolchain.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from roundtrip import paths
from roundtrip.cause import steps
from roundtrip.cause.journal import arm_name
from roundtrip.cause.steps import TOOLCHAIN, SeriesStep, Switch
from roundtrip.content.series import NODE_SET_FACT
from roundtrip.errors import UserError, report_write_errors
from roundtrip.history.facts import LAUNCHER_OPTIONS_FACT
from roundtrip.measure import (
    environment,
    matrix,
    pseudonyms,
    round_robin,
    samples,
    scheduler,
    session,
    tree,
)
from roundtrip.measure.bundle_rows import SERIES_COLUMNS
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.launch import SAMPLES_FILE, Launch
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.progress import TerminalProgress
from roundtrip.measure.tree import RunTree
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import NoAnswerError, Scheduler
from roundtrip.sites.site import Site

#: Maximum number of launches of an arm.
_MAX_LAUNCHES = 10_000
_VARIABLES = "variables.sh"


@dataclass(frozen=True)
class StepCase:
    """The case of a step, with only the switches that can be launched now.

    `items_by_toolchain` has the same case with other toolchains.  `hosts` has the host names of
    each node set, by the pseudonyms of its nodes.
    """

    step: SeriesStep
    item: ExpectedCase
    items_by_toolchain: Mapping[str, ExpectedCase] = field(default_factory=dict)
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def prepare_case(
    declaration: Campaign, here: Site, step: SeriesStep, tell: Callable[[str], None]
) -> StepCase:
    """The case of a step; UserError if it is not launched here, is simulated, or has no switch."""
    case = str(step.series.data.identity["case_id"])
    item = _find_case(matrix.build_matrix(declaration, here), case)
    if item is None:
        raise UserError(f"campaign '{step.campaign}' launches no {case} here any more")
    if item.simulated:
        raise UserError(f"site '{here.name}' simulates: it gives the same values each time")
    hosts = find_hosts(here, item, step.switches)
    values = {switch.variable: (switch.old, switch.new) for switch in step.switches}
    if not hosts.keys() >= {*values.get(NODE_SET_FACT, ())}:
        tell("the nodes of before and those of now are not all in use: they are not switched")
        step = steps.without_nodes(step)
    if not step.switches:
        raise UserError(f"nothing that differs since {step.night[:10]} can be switched now")
    old, _ = values.get(TOOLCHAIN, (None, None))
    items_by_toolchain = {old: _case_with_toolchain(declaration, here, item, old)} if old else {}
    return StepCase(step, item, items_by_toolchain, hosts)


def _find_case(full_matrix: Matrix, case: str) -> ExpectedCase | None:
    return next((item for item in full_matrix.expected if item.case.id == case), None)


def _case_with_toolchain(
    declaration: Campaign, here: Site, item: ExpectedCase, name: str
) -> ExpectedCase:
    """The case of `item` with toolchain `name`; UserError if the site cannot launch it."""
    if name not in here.toolchains:
        names = ", ".join(sorted(here.toolchains))
        raise UserError(f"unknown toolchain '{name}'; site '{here.name}' has: {names}")
    case = item.case
    checks = tuple(
        replace(plan, toolchains=(name,))
        for plan in declaration.checks
        if plan.name == case.check and case.environ in (plan.toolchains or (case.environ,))
    )
    full_matrix = matrix.build_matrix(replace(declaration, checks=checks), here)
    case_id = replace(case, environ=name).id
    other_item = _find_case(full_matrix, case_id)
    if other_item is None:
        reason = next(skip.reason for skip in full_matrix.skipped if skip.case_id == case_id)
        raise UserError(f"toolchain '{name}' cannot launch it: {reason}")
    return other_item


def build(
    folder: Path, declaration: Campaign, here: Site, case: StepCase, progress: TerminalProgress
) -> RunTree:
    """Build the program of a search; return the run tree in its folder, the parent of the arms'.

    UserError if the program cannot be built, or is not what the search began with.
    """
    expected = (case.item, *case.items_by_toolchain.values())
    state_files = sorted((folder / "tree").glob("*/*/*/state.json"))
    if state_files:
        root = RunTree(state_files[-1].parent)
    else:
        with report_write_errors(folder):
            root = tree.create_tree(folder / "tree", declaration, here, Matrix(expected, ()))
            environment.record_environment(here, Matrix(expected, ()), root.path / "env")
    with root:
        session.build_programs(here, expected, root, progress)
        newest = max(root.path.glob("builds/*/session.json"), key=lambda file: file.parent.name)
        if json.loads(newest.read_text())["exit_status"]:
            raise UserError("the toolchain no longer builds it; see console.log", newest.parent)
        environment.record_pinned_digests(root)
        if reason := environment.describe_change(root):
            raise UserError(f"{reason}; start a new search")
    return root


@dataclass
class Checks:
    """Launches `case` on `site`, below `root`; a result is the median of the step's series."""

    site: Site
    case: StepCase
    root: RunTree
    minutes: float
    tell: Callable[[str], None]
    _scheduler: Scheduler = field(init=False)
    _wait: scheduler.SchedulerWait = field(init=False)

    def __post_init__(self) -> None:
        partition = self.site.partitions[self.case.item.case.partition]
        self._scheduler = schedulers.scheduler_of_partition(partition)
        end = time.time() + 60 * self.minutes
        self._wait = scheduler.SchedulerWait(self._scheduler, end, self.root.path)

    def build(self, arm: Hashable) -> str:
        """Return "": all arms launch the same program, which is built before the search."""
        return ""

    def launch(self, arm: Hashable, limit_s: float | None = None) -> float:
        """Launch an arm once; return the series' median, or its reciprocal if higher is better.

        A launch that the scheduler prevented is repeated for `limit_s` seconds; then NoAnswerError.
        ReFrame ends a launch at the time limit of its test.  UserError if the launch failed, has no
        sample of the series, or its median is not above 0.
        """
        case, series = self.case, self.case.step.series.data
        values = {switch.variable: switch.value(arm) or "" for switch in case.step.switches}
        item = case.items_by_toolchain.get(values.get(TOOLCHAIN, ""), case.item)
        arm_tree = self._tree(arm, item)
        settings = [("prerun_cmds", f". {shlex.quote(str(arm_tree.path / _VARIABLES))}")]
        if LAUNCHER_OPTIONS_FACT in values:
            settings.append(("launcher_options", values[LAUNCHER_OPTIONS_FACT]))
        item = replace(item, variables=(*item.variables, *settings))
        if NODE_SET_FACT in values:
            item = replace(item, nodelist=case.hosts[values[NODE_SET_FACT]])
        end = time.monotonic() + (60 * self.minutes if limit_s is None else limit_s)
        pauses = scheduler.RoundPauses(self._scheduler, end, self.tell, self.site.environment)
        while True:
            start = time.time()
            launches = self._launches(item, arm_tree)
            if not (reason := self._hindrance(launches, start)):
                break
            if not pauses.sleep(reason):
                raise NoAnswerError(reason)
        folders = (launch.folder for launch in launches if launch.status == "passed")
        if not (folder := next(filter(None, folders), None)):
            raise UserError(launches[0].reason if launches else "ReFrame left no launch")
        frame = samples.parse((folder / SAMPLES_FILE).read_bytes(), folder / SAMPLES_FILE).frame
        series_rows = frame.filter(
            *(pl.col(name) == series.identity[name] for name in SERIES_COLUMNS)
        )
        if series_rows.is_empty():
            raise UserError("the launch has no sample of the series")
        value = float(series_rows["value"].median())  # type: ignore[arg-type]
        if value <= 0:
            raise UserError(f"its result is {value:g}; right is a number above 0")
        return value if series.lower_is_better else 1 / value

    def _launches(self, item: ExpectedCase, arm_tree: RunTree) -> list[Launch]:
        """The launches of a session that launches `item` once; none if ReFrame left no trace."""
        place = self.root.path
        label = f"{place.parent.parent.name}/{self.site.name}/{place.name}"
        with arm_tree:
            folder = arm_tree.make_session_folder(arm_tree.next_round_number())
            session.run_session(
                self.site,
                [item],
                folder,
                label,
                arm_tree.lock_descriptor,
                lambda kind, name: None,
                self._wait,
            )
            return [
                launch for launch in scan_launches(arm_tree.path) if launch.session == folder.name
            ]

    def _hindrance(self, launches: Sequence[Launch], start: float) -> str:
        """Why the scheduler prevented the launches of a session that began at `start`, Unix time;
        "" if it did not."""
        statuses = {launch.status for launch in launches}
        if not self._scheduler.allocates_nodes or "passed" in statuses:
            return ""
        reasons = [launch.reason for launch in launches]
        if "displaced" in statuses:
            return reasons[0]
        was_silent = self._wait.outage_s(start) is not None
        if was_silent or any(map(self._scheduler.is_no_answer_message, reasons)):
            return f"{self._scheduler.title} did not answer"
        return next(filter(self._scheduler.is_submit_limit_message, reasons), "")

    def _tree(self, arm: Hashable, item: ExpectedCase) -> RunTree:
        """The run tree of an arm, with the script that sets its variables."""
        name = hashlib.sha256(arm_name(arm).encode()).hexdigest()[:12]
        arm_tree = RunTree(self.root.path / "arms" / name)
        script = arm_tree.path / _VARIABLES
        if not script.exists():
            arm_tree = tree.make_inner_tree(self.root, f"arms/{name}", [item], _MAX_LAUNCHES)
            script.write_text(arm_script(self.case.step.switches, arm), encoding="utf-8")
        return arm_tree


def arm_script(switches: Sequence[Switch], arm: Hashable) -> str:
    """Shell commands that set each variable to its value in an arm, or unset it."""
    others = (NODE_SET_FACT, TOOLCHAIN, LAUNCHER_OPTIONS_FACT)
    values = {item.variable: item.value(arm) for item in switches if item.variable not in others}
    return "".join(
        f"unset {name}\n" if value is None else f"export {name}={shlex.quote(value)}\n"
        for name, value in values.items()
    )


def find_hosts(
    site: Site, item: ExpectedCase, switches: Sequence[Switch]
) -> dict[str, tuple[str, ...]]:
    """The hosts of each node set on which `item` can be launched now, by the set's pseudonyms.

    For such a set, no node is down, the site's key is available, and its size fits `item`.
    """
    node_sets = [
        side
        for switch in switches
        if switch.variable == NODE_SET_FACT
        for side in (switch.old, switch.new)
        if side
    ]
    partition = item.case.partition
    live_nodes = {
        node.name.partition(".")[0]: node.name
        for node in round_robin.collect_listed_nodes(site, [partition] if node_sets else []).get(
            partition, ()
        )
        if not node.down_reason
    }
    known = (
        pseudonyms.collect_host_names(site.name, paths.runs()).host_by_pseudonym
        if live_nodes
        else {}
    )
    hosts = {}
    for node_set in node_sets:
        short_names = (known.get(node, "").partition(".")[0] for node in node_set.split(", "))
        names = [live_nodes.get(name) for name in short_names]
        if all(names) and len(names) == item.node_count:
            hosts[node_set] = tuple(sorted(filter(None, names)))
    return hosts
