"""Launches the cases of a campaign, round by round, until none lacks a launch; it can resume."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from roundtrip.measure import environment, records, round_robin, scheduler, session, tree
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.launch import error_tail
from roundtrip.measure.launches import CHANGE_FILE, scan_launches
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.measure.progress import TerminalProgress, describe_duration
from roundtrip.measure.scheduler import PendingJobs, RoundPauses, SchedulerWait
from roundtrip.measure.tree import RunTree
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import NoAnswerError, Scheduler
from roundtrip.sites.site import Site

#: A case id, and the requested hosts; () if the scheduler chooses them.
LaunchKey = tuple[str, tuple[str, ...]]
#: Failures in one invocation after which a case that never passed is given up.
MAX_CASE_FAILURES = 2
_SUBMIT_LIMIT_REASON = "takes no more jobs of this user or account now (a limit of submitted jobs)"


@dataclass
class Runner:
    """Launches the cases `expected` of a campaign until each has its launches.

    A round launches every case that still needs a launch once, in random order, so that a drift
    of the machine affects all cases alike (a randomised block design); or in the order of
    `session.abba_order`.
    """

    campaign: Campaign
    site: Site
    tree: RunTree
    expected: Sequence[ExpectedCase]
    progress: TerminalProgress
    #: Called before each round; True ends the run, even if launches are missing.
    should_stop: Callable[[], bool] = lambda: False
    #: End of the time limit on the clock ``time.monotonic``; set when the run starts.
    deadline_s: float = 0.0
    _failure_counts: Counter[LaunchKey] = field(default_factory=Counter)
    _launch_times_s: list[float] = field(default_factory=list)
    _scheduler_wait: SchedulerWait = field(init=False)

    def run(self) -> bool:
        """Run rounds until every case has its launches or failed too often; False if the time
        limit, or the wait for the scheduler, ended first.

        The run ends if a file in the `pins` of state.json has changed.  A round does not begin if,
        by the median duration of earlier rounds, it would exceed the time limit.
        """
        limit_s = 60 * self.campaign.time_limit_minutes
        self.deadline_s = time.monotonic() + limit_s
        self._scheduler_wait = SchedulerWait(self._scheduler, time.time() + limit_s, self.tree.path)
        launches = self.campaign.launches * len(self.expected)
        cases = len({item.case.id for item in self.expected})
        self.progress.begin_launches(cases, launches, limit_s, self._describe_wait)
        try:
            self._cancel_jobs()
            session.kill_orphans(self.tree.path)
            in_time = self._run_rounds()
            # A job that was requeued would run without a session.
            self._cancel_jobs()
        except NoAnswerError:
            return False
        finally:
            scheduler.write_outages(self.tree.path)
        return in_time

    @property
    def median_launch_s(self) -> float:
        """Median over the rounds run so far of the duration of a launch, s; 0 before the first."""
        return statistics.median(self._launch_times_s) if self._launch_times_s else 0.0

    def _run_rounds(self) -> bool:
        lengths_s: list[float] = []
        show, variables = self.progress.show_wait, self.site.environment
        pauses = RoundPauses(self._scheduler, self.deadline_s, show, variables)
        while (items := self._incomplete_cases()) and not self.should_stop():
            if self._record_change():
                return True
            passed, _ = self._count_passed()
            missing_counts = (
                max(1, self.campaign.launches - passed[item.launch_key]) for item in items
            )
            self.progress.set_remaining(sum(missing_counts))
            length_s = statistics.median(lengths_s) if lengths_s else 0.0
            if lengths_s and time.monotonic() + length_s > self.deadline_s:
                return False
            seconds, reason = self._run_round(items)
            if reason:
                # Nothing was measured, and the next round would fail at once as well.
                if not pauses.sleep(reason):
                    return False
            else:
                lengths_s.append(seconds)
                self._launch_times_s.append(seconds / len(items))
                pauses.reset()
        return True

    def _record_change(self) -> bool:
        """Whether a pinned file has changed since the run began; write it to state.json."""
        if change := environment.describe_change(self.tree):
            self.tree.write_state(stopped=change)
        return bool(change)

    def _cancel_jobs(self) -> None:
        scheduler.cancel_jobs(self._run_name, self.site.environment, self._scheduler_wait)

    def _describe_wait(self) -> str:
        """Describe what the run waits for: an answer of the scheduler, or the start of a job."""
        return self._scheduler_wait.describe_outage() or self._pending_jobs.query_status()

    @cached_property
    def _pending_jobs(self) -> PendingJobs:
        comment = scheduler.job_comment(self._run_name)
        return PendingJobs(self._scheduler, comment, self.site.environment)

    @cached_property
    def _scheduler(self) -> Scheduler:
        return schedulers.scheduler_of_site(self.site.partitions)

    @property
    def _no_answer_reason(self) -> str:
        return f"{self._scheduler.title} did not answer"

    @property
    def _run_name(self) -> str:
        return f"{self.campaign.name}/{self.site.name}/{self.tree.path.name}"

    def _run_round(self, items: Sequence[ExpectedCase]) -> tuple[float, str]:
        """Launch each case once.  Return the duration without outages, s, and why nothing
        completed.

        The reason is the most frequent one if the scheduler prevented every launch, "" if a launch
        completed or failed by itself.  A launch that it prevented does not count against its case.
        """
        old_counts, _ = self._count_passed()
        number = self.tree.next_round_number()
        seconds, lock = 0.0, self.tree.lock_descriptor
        excuses: dict[LaunchKey, str] = {}
        seed, groups = self.campaign.abba_seed, []
        for side in [items] if seed is None else session.abba_order(items, seed, number):
            side_groups = session.group_by_command(side)
            random.shuffle(side_groups)
            groups += side_groups
        for group in groups:
            start = time.time()
            folder = self.tree.make_session_folder(number)
            seconds += session.run_session(
                self.site, group, folder, self._run_name, lock, self._on_event, self._scheduler_wait
            )
            if (lost_s := self._scheduler_wait.outage_s(start)) is not None:
                seconds -= lost_s
                excuses |= dict.fromkeys(
                    (item.launch_key for item in group), self._no_answer_reason
                )
            if self._record_change():
                # Nobody knows which of its launches ran which version.
                (folder / CHANGE_FILE).write_text(self.tree.state["stopped"])
                break
            excuses |= self._prevention_reasons(folder.name)
        new_counts, _ = self._count_passed()
        failures = {
            item.launch_key
            for item in items
            if new_counts[item.launch_key] == old_counts[item.launch_key]
        }
        self._failure_counts.update(failures - excuses.keys())
        reason = ""
        if failures and failures <= excuses.keys() and new_counts == old_counts:
            ((reason, _),) = Counter(excuses[key] for key in failures).most_common(1)
        return max(0.0, seconds), reason

    def _prevention_reasons(self, session_name: str) -> dict[LaunchKey, str]:
        """Return, by key of launch, why the scheduler prevented it, for launches of one session."""
        reasons = {}
        for launch in scan_launches(self.tree.path):
            if launch.session != session_name:
                continue
            if launch.status == "displaced":
                reasons[launch.launch_key] = launch.reason
            elif launch.status == "failed":
                error = error_tail(launch.folder) if launch.folder else ""
                words = f"{launch.reason}\n{error}"
                if self._scheduler.is_no_answer_message(words):
                    node_failed = "a node failed under the launch"
                    reasons[launch.launch_key] = (
                        node_failed if launch.nodes_down else self._no_answer_reason
                    )
                elif self._scheduler.is_submit_limit_message(words):
                    reasons[launch.launch_key] = f"{self._scheduler.title} {_SUBMIT_LIMIT_REASON}"
        return reasons

    def _on_event(self, event: str, test_name: str) -> None:
        name = session.describe_test(test_name)
        if event == "RUN":
            self.progress.show_current_test(name)
        else:
            self.progress.show_result(event, name, is_launch=not session.is_fixture(test_name))

    def _count_passed(self) -> tuple[Counter[LaunchKey], Counter[LaunchKey]]:
        """Return, by key of launch, how many passed, and how many of them undisturbed."""
        launches = [launch for launch in scan_launches(self.tree.path) if launch.status == "passed"]
        return (
            Counter(launch.launch_key for launch in launches),
            Counter(launch.launch_key for launch in launches if not launch.disturbance_reasons),
        )

    def _incomplete_cases(self) -> list[ExpectedCase]:
        """Return the cases with too few launches, or if none, with too few undisturbed ones."""
        passed, clean = self._count_passed()
        launches = self.campaign.launches
        candidates = [
            item
            for item in self.expected
            if self._failure_counts[item.launch_key]
            < (launches if passed[item.launch_key] else MAX_CASE_FAILURES)
        ]
        shortfall = [item for item in candidates if passed[item.launch_key] < launches]
        limit = launches + self.campaign.extra_launches
        return shortfall or [
            item
            for item in candidates
            if clean[item.launch_key] < launches and passed[item.launch_key] < limit
        ]


def launch_confirmation(runner: Runner, cases: Collection[str], launches: int) -> str:
    """Launch each of `cases` again, `launches` times; return why nothing was launched, else "".

    `runner` has run, and its campaign has ``confirm``.  Each case is launched on the nodes of its
    launches of the night if they are up.  A round begins only if it can end in time.
    """
    items = [item for item in runner.expected if item.case.id in cases and not item.simulated]
    confirm_s = 60 * (runner.campaign.confirm_minutes or 0.0)
    budget_s = min(confirm_s, runner.deadline_s - time.monotonic())
    round_s = runner.median_launch_s * len(items)
    reason = ""
    if not items:
        reason = "none of the cases is launched by this campaign"
    elif budget_s <= 0 or round_s > budget_s:
        reason = (
            f"no time was left: a round takes {describe_duration(round_s)}, of "
            f"{describe_duration(budget_s)}"
        )
    note = {"schema": 1, "launches": launches, "why_not": reason}
    (runner.tree.path / "env" / records.CONFIRMATION_FILE).write_text(json.dumps(note) + "\n")
    if reason:
        return reason
    items = list(_items_on_same_nodes(runner, items))
    inner = tree.make_inner_tree(runner.tree, records.CONFIRMATION_FOLDER, items, launches)
    title = f"{runner.campaign.title}: launching again what was worse"
    campaign = replace(
        runner.campaign, title=title, launches=launches, time_limit_minutes=budget_s / 60
    )
    with inner:
        Runner(campaign, runner.site, inner, items, runner.progress).run()
    return ""


def _items_on_same_nodes(runner: Runner, items: Sequence[ExpectedCase]) -> Iterator[ExpectedCase]:
    """Yield the cases, with the node list of their launches of the night if all nodes are up."""
    node_lists = round_robin.collect_listed_nodes(
        runner.site, {item.case.partition for item in items}
    )
    host_names: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for partition, node_list in node_lists.items():
        up_names = (node.name for node in node_list if not node.down_reason)
        host_names[partition] = {name.partition(".")[0]: name for name in up_names}
    host_counts: defaultdict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    for launch in scan_launches(runner.tree.path):
        if launch.status == "passed" and not launch.disturbance_reasons:
            hosts = frozenset(host.partition(".")[0] for host in launch.run_record["hosts"])
            host_counts[launch.case_id][hosts] += 1
    for item in items:
        names, counts = host_names[item.case.partition], host_counts[item.case.id]
        hosts = max(counts, key=counts.__getitem__, default=frozenset())
        if not item.pairs and len(hosts) == item.node_count and hosts <= names.keys():
            item = replace(item, nodelist=tuple(sorted(names[host] for host in hosts)))
        yield item
