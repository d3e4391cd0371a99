"""Runs the matrix of a campaign to its end, in rounds of launches; it can resume at any point."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from roundtrip.measure import (
    completion,
    environment,
    records,
    round_robin,
    scheduler,
    session,
    tree,
)
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.launch import error_tail
from roundtrip.measure.launches import CHANGE_FILE, scan
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.measure.progress import TerminalProgress, duration
from roundtrip.measure.scheduler import Pauses, Queue
from roundtrip.measure.tree import RunTree
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import NoAnswerError, Scheduler
from roundtrip.sites.site import Site

#: Key of a launch: a case, or a case on a node pair.
Key = tuple[str, tuple[str, ...]]
#: Failures in one invocation after which a case that never passed is given up.
GIVE_UP_AFTER = 2
_SUBMIT_LIMIT_REASON = "takes no more jobs of this user or account now (a limit of submitted jobs)"


@dataclass
class Runner:
    """Runs missing launches, one performance job at a time, until none is missing.

    A round launches every case that still needs a launch once, in random order, so that a drift
    of the machine affects all cases alike (a randomised block design); or in the order of
    `session.abba_order`.
    """

    campaign: Campaign
    site: Site
    tree: RunTree
    expected: Sequence[ExpectedCase]
    progress: TerminalProgress
    #: Called before each round; True ends the run, whatever is missing.
    should_stop: Callable[[], bool] = lambda: False
    #: End of the time limit on the clock ``time.monotonic``; set when the run starts.
    deadline: float = 0.0
    _failures: Counter[Key] = field(default_factory=Counter)
    _launch_s: list[float] = field(default_factory=list)
    _wait: scheduler.Wait | None = None

    def run(self) -> bool:
        """Run rounds until every case has its launches or is given up; False if time ended first.

        The run ends if a pinned file has changed.  A round, the unit of pairing, does not begin if
        it would exceed the time limit, by the median length of earlier rounds without builds and
        waits for the scheduler.
        """
        limit_s = 60 * self.campaign.time_limit_minutes
        self.deadline = time.monotonic() + limit_s
        self._wait = scheduler.begin_wait(self._scheduler, limit_s, self.tree.path)
        launches = self.campaign.launches * len(self.expected)
        cases = len({item.case.id for item in self.expected})
        note = self._wait_text if self._wait else str
        self.progress.begin_launches(cases, launches, limit_s, note)
        try:
            self._cancel()
            session.kill_orphans(self.tree.path)
            in_time = self._run_rounds()
            # A job that was requeued would run without a session.
            self._cancel()
        except NoAnswerError:
            return False
        finally:
            scheduler.record_outages(self.tree.path)
        return in_time

    @property
    def launch_s(self) -> float:
        """Duration of a launch, s: median over rounds of this invocation; 0 before the first."""
        return statistics.median(self._launch_s) if self._launch_s else 0.0

    def _run_rounds(self) -> bool:
        lengths_s: list[float] = []
        show, variables = self.progress.show_wait, self.site.environment
        pauses = Pauses(self._scheduler, self.deadline, show, variables)
        while (items := self._incomplete_cases()) and not self.should_stop():
            if self._is_changed():
                return True
            passed, _ = self._count_passed()
            left = (max(1, self.campaign.launches - passed[item.key]) for item in items)
            self.progress.set_remaining(sum(left))
            length_s = statistics.median(lengths_s) if lengths_s else 0.0
            if lengths_s and time.monotonic() + length_s > self.deadline:
                return False
            seconds, reason = self._run_round(items)
            if reason:
                # Nothing was measured, and the next round would fail at once as well.
                if not pauses.take(reason):
                    return False
            else:
                lengths_s.append(seconds)
                self._launch_s.append(seconds / len(items))
                pauses.end()
        return True

    def _is_changed(self) -> bool:
        """Whether a pinned file has changed since the run began; record it, as the run stops."""
        if change := environment.find_change(self.tree):
            self.tree.write_state(stopped=change)
        return bool(change)

    def _cancel(self) -> None:
        if self._wait:
            scheduler.cancel(self._label, self.site.environment, self._wait)

    def _wait_text(self) -> str:
        """Return what the run waits for: an answer, or the start of a job."""
        return (self._wait.status() if self._wait else "") or self._queue.status()

    @cached_property
    def _queue(self) -> Queue:
        comment = scheduler.job_comment(self._label)
        return Queue(self._scheduler, comment, self.site.environment)

    @cached_property
    def _scheduler(self) -> Scheduler:
        return schedulers.of_site(self.site.partitions)

    @property
    def _no_answer(self) -> str:
        return f"{self._scheduler.title} did not answer"

    @property
    def _label(self) -> str:
        return f"{self.campaign.name}/{self.site.name}/{self.tree.path.name}"

    def _run_round(self, items: Sequence[ExpectedCase]) -> tuple[float, str]:
        """Launch each case once.  Return the duration, s, and why no launch completed.

        The reason is the most frequent one if the scheduler prevented every launch, "" if a launch
        completed or failed by itself.  A launch that it prevented does not count against its case.
        """
        old_counts, _ = self._count_passed()
        number = self.tree.next_round()
        seconds, lock = 0.0, self.tree.lock_descriptor
        excuses: dict[Key, str] = {}
        seed, blocks = self.campaign.abba_seed, []
        for side in [items] if seed is None else session.abba_order(items, seed, number):
            side_blocks = session.blocks(side)
            random.shuffle(side_blocks)
            blocks += side_blocks
        for block in blocks:
            start = time.time()
            folder = self.tree.make_session_folder(number)
            seconds += session.run_session(
                self.site, block, folder, self._label, lock, self._on_event, self._wait
            )
            if self._wait and (lost_s := self._wait.outage_s(start)) is not None:
                seconds -= lost_s
                excuses |= dict.fromkeys((item.key for item in block), self._no_answer)
            if self._is_changed():
                # Nobody knows which of its launches ran which version.
                (folder / CHANGE_FILE).write_text(self.tree.state["stopped"])
                break
            excuses |= self._prevention_reasons(folder.name)
        new_counts, _ = self._count_passed()
        failures = {item.key for item in items if new_counts[item.key] == old_counts[item.key]}
        self._failures.update(failures - excuses.keys())
        reason = ""
        if failures and failures <= excuses.keys() and new_counts == old_counts:
            ((reason, _),) = Counter(excuses[key] for key in failures).most_common(1)
        return max(0.0, seconds), reason

    def _prevention_reasons(self, round_: str) -> dict[Key, str]:
        """Return, by case, why the scheduler prevented a launch of that session."""
        reasons = {}
        for launch in scan(self.tree.path):
            if launch.round != round_:
                continue
            if launch.status == completion.DISPLACED:
                reasons[launch.key] = launch.reason
            elif self._wait and launch.status == "failed":
                error = error_tail(launch.folder) if launch.folder else ""
                words = f"{launch.reason}\n{error}"
                if self._scheduler.is_no_answer(words):
                    node_failed = "a node failed under the launch"
                    reasons[launch.key] = node_failed if launch.nodes_down else self._no_answer
                elif self._scheduler.is_submit_limit(words):
                    reasons[launch.key] = f"{self._scheduler.title} {_SUBMIT_LIMIT_REASON}"
        return reasons

    def _on_event(self, kind: str, name: str) -> None:
        words = session.case_label(name)
        if kind == "RUN":
            self.progress.show_test(words)
        else:
            self.progress.show_result(kind, words, counts=not session.is_fixture(name))

    def _count_passed(self) -> tuple[Counter[Key], Counter[Key]]:
        """Return the numbers of passed launches and of passed undisturbed launches, by case."""
        launches = [launch for launch in scan(self.tree.path) if launch.status == "passed"]
        return (
            Counter(launch.key for launch in launches),
            Counter(launch.key for launch in launches if not launch.disturbances),
        )

    def _incomplete_cases(self) -> list[ExpectedCase]:
        """Return the cases with too few launches, or if none, with too few undisturbed ones."""
        passed, clean = self._count_passed()
        launches = self.campaign.launches
        candidates = [
            item
            for item in self.expected
            if self._failures[item.key] < (launches if passed[item.key] else GIVE_UP_AFTER)
        ]
        shortfall = [item for item in candidates if passed[item.key] < launches]
        limit = launches + self.campaign.extra_launches
        return shortfall or [
            item for item in candidates if clean[item.key] < launches and passed[item.key] < limit
        ]


def launch_confirmation(runner: Runner, cases: Collection[str], launches: int) -> str:
    """Launch each of `cases` `launches` times, in rounds; return why not, "" if launched.

    `runner` has run, and its campaign has ``confirm``.  Each case is launched on the nodes of its
    launches of the night if they are up.  A round begins only if it can end in time.
    """
    items = [item for item in runner.expected if item.case.id in cases and not item.simulated]
    confirm_s = 60 * (runner.campaign.confirm_minutes or 0.0)
    budget_s = min(confirm_s, runner.deadline - time.monotonic())
    round_s = runner.launch_s * len(items)
    reason = ""
    if not items:
        reason = "none of the cases is launched by this campaign"
    elif budget_s <= 0 or round_s > budget_s:
        reason = f"no time was left: a round takes {duration(round_s)}, of {duration(budget_s)}"
    note = {"schema": 1, "launches": launches, "why_not": reason}
    (runner.tree.path / "env" / records.CONFIRMATION_FILE).write_text(json.dumps(note) + "\n")
    if reason:
        return reason
    items = list(_items_on_same_nodes(runner, items))
    inner = tree.make_inner_tree(runner.tree, records.CONFIRMATION, items, launches)
    title = f"{runner.campaign.title}: launching again what was worse"
    campaign = replace(
        runner.campaign, title=title, launches=launches, time_limit_minutes=budget_s / 60
    )
    with inner:
        Runner(campaign, runner.site, inner, items, runner.progress).run()
    return ""


def _items_on_same_nodes(runner: Runner, items: Sequence[ExpectedCase]) -> Iterator[ExpectedCase]:
    """Yield the cases, with the node list of their launches of the night if all nodes are up."""
    node_lists = round_robin.listed_nodes(runner.site, {item.case.partition for item in items})
    host_names: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for partition, node_list in node_lists.items():
        up_names = (node.name for node in node_list if not node.down_reason)
        host_names[partition] = {name.partition(".")[0]: name for name in up_names}
    host_counts: defaultdict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    for launch in scan(runner.tree.path):
        if launch.status == "passed" and not launch.disturbances:
            hosts = frozenset(host.partition(".")[0] for host in launch.run["hosts"])
            host_counts[launch.case_id][hosts] += 1
    for item in items:
        names, counts = host_names[item.case.partition], host_counts[item.case.id]
        hosts = max(counts, key=counts.__getitem__, default=frozenset())
        if not item.pairs and len(hosts) == item.nodes and hosts <= names.keys():
            item = replace(item, nodelist=tuple(sorted(names[host] for host in hosts)))
        yield item
