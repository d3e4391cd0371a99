"""Runs the matrix of a campaign to its end, in rounds of launches; it can resume at any point."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from roundtrip.campaign import environment, nodes, scheduler, session, tree
from roundtrip.campaign.matrix import Expected
from roundtrip.campaign.model import Campaign
from roundtrip.campaign.progress import TerminalProgress, duration
from roundtrip.campaign.scheduler import Pauses, Queue
from roundtrip.campaign.tree import RunTree
from roundtrip.collect import completion, records, scheduler_log
from roundtrip.collect.launches import Launch, scan
from roundtrip.sites import slurm
from roundtrip.sites.site import Site

#: What is launched: a case, or a case on a node pair.
Key = tuple[str, tuple[str, ...]]
#: A case that failed so often in one invocation, and never passed, is given up.
GIVE_UP_AFTER = 2
_NO_ANSWER = "Slurm did not answer"
_NODE_FAILED = "a node failed under the launch"
_LIMIT = "Slurm takes no more jobs of this user or account now (a limit of submitted jobs)"


@dataclass
class Runner:
    """Launches what is missing, one performance job at a time, until nothing is missing.

    A round launches every case that still needs a launch once, in random order, so that a drift
    of the machine affects all cases alike (a randomised block design); or in the order of
    `session.abba_order`.
    """

    campaign: Campaign
    site: Site
    tree: RunTree
    expected: Sequence[Expected]
    progress: TerminalProgress
    #: Called before each round; True ends the run, whatever is missing.
    enough: Callable[[], bool] = lambda: False
    #: When the time limit is over, on the clock ``time.monotonic``; known once it runs.
    deadline: float = 0.0
    _failures: Counter[Key] = field(default_factory=Counter)
    _launch_s: list[float] = field(default_factory=list)
    _wait: scheduler.SlurmWait | None = None

    def run(self) -> bool:
        """Run rounds until every case has its launches or is given up; False if time ended first.

        It ends before a launch of what is not as it was when the run began.

        A round is the unit of pairing.  It does not begin if, by the length of the others, it would
        not end in time.  Time for building and for waiting for Slurm is not part of its length.
        """
        limit_s = 60 * self.campaign.time_limit_minutes
        self.deadline = time.monotonic() + limit_s
        if any(slurm.is_slurm(part["scheduler"]) for part in self.site.partitions.values()):
            self._wait = scheduler.SlurmWait(time.time() + limit_s, self.tree.path)
        launches = self.campaign.launches * len(self.expected)
        cases = len({item.case.id for item in self.expected})
        note = self._waits_for if self._wait else str
        self.progress.launching(cases, launches, limit_s, note)
        try:
            self._cancel()
            in_time = self._rounds()
            # A job that Slurm took back into the queue would run for no session.
            self._cancel()
        except scheduler.NoAnswerError:
            return False
        finally:
            scheduler_log.record(self.tree.path)
        return in_time

    @property
    def launch_s(self) -> float:
        """How long a launch took in the middle round of this invocation; 0 before the first."""
        return statistics.median(self._launch_s) if self._launch_s else 0.0

    def _rounds(self) -> bool:
        lengths_s: list[float] = []
        pauses = Pauses(self.deadline, self.progress.waiting, self.site.environment)
        while (wanted := self._wanted()) and not self.enough():
            if self._is_changed():
                return True
            self.progress.expect(self._left(wanted))
            length_s = statistics.median(lengths_s) if lengths_s else 0.0
            if lengths_s and time.monotonic() + length_s > self.deadline:
                return False
            seconds, idle = self._round(wanted)
            if idle:
                # Nothing was measured, and the next round would fail at once as well.
                if not pauses.take(idle):
                    return False
            else:
                lengths_s.append(seconds)
                self._launch_s.append(seconds / len(wanted))
                pauses.end()
        return True

    def _is_changed(self) -> bool:
        """Whether something is not as it was when the run began; recorded, as nothing follows."""
        if changed := environment.find_change(self.tree):
            self.tree.write_state(stopped=changed)
        return bool(changed)

    def _cancel(self) -> None:
        scheduler.cancel(self._label, self.site.environment, self._wait)

    def _waits_for(self) -> str:
        """What the run waits for: an answer of Slurm, or a place in its queue."""
        silent = self._wait.now() if self._wait else ""
        return silent or self._queue.now()

    @cached_property
    def _queue(self) -> Queue:
        return Queue(scheduler.job_comment(self._label), self.site.environment)

    @property
    def _label(self) -> str:
        return f"{self.campaign.name}/{self.site.name}/{self.tree.path.name}"

    def _round(self, wanted: Sequence[Expected]) -> tuple[float, str]:
        """Launch each case once.  Return the duration, s, and why no launch completed.

        The reason is the most frequent one by which Slurm alone prevented launches, "" if a launch
        completed or failed by itself.  A launch that failed while Slurm did not answer, or that
        Slurm displaced, does not count against its case.
        """
        before, _ = self._passed()
        number = self.tree.next_round()
        todo = self._blocks(wanted, number)
        seconds = 0.0
        excused: dict[Key, str] = {}
        for block in todo:
            if self._is_changed():
                break
            start = time.time()
            folder = self.tree.next_session(number)
            seconds += session.run_session(
                self.site,
                block,
                folder,
                self._label,
                self.tree.lock_descriptor,
                self._on_event,
                self._wait,
            )
            if self._wait:
                lost_s = self._wait.since(start)
                seconds -= lost_s or 0.0
                if lost_s is not None:
                    excused |= dict.fromkeys((item.key for item in block), _NO_ANSWER)
            excused |= self._excused(folder.name)
        after, _ = self._passed()
        failed = {item.key for item in wanted if after[item.key] == before[item.key]}
        self._failures.update(failed - excused.keys())
        why = ""
        if failed and failed <= excused.keys() and after == before:
            ((why, _),) = Counter(excused[key] for key in failed).most_common(1)
        return max(0.0, seconds), why

    def _blocks(self, wanted: Sequence[Expected], number: int) -> list[list[Expected]]:
        """The sessions of a round, in their order."""
        seed = self.campaign.abba_seed
        sides = [wanted] if seed is None else session.abba_order(wanted, seed, number)
        found = []
        for side in sides:
            blocks = session.blocks(side)
            random.shuffle(blocks)
            found += blocks
        return found

    def _excused(self, round_: str) -> dict[Key, str]:
        """Why Slurm displaced or did not take a launch of that session, or was silent, by case."""
        found = {}
        for launch in scan(self.tree.path):
            if launch.round != round_:
                continue
            if launch.status == completion.DISPLACED:
                found[launch.key] = launch.reason
            elif self._wait and launch.status == "failed":
                if scheduler.is_no_answer(words := _words(launch)):
                    found[launch.key] = _NODE_FAILED if launch.nodes_down else _NO_ANSWER
                elif scheduler.is_submit_limit(words):
                    found[launch.key] = _LIMIT
        return found

    def _on_event(self, kind: str, name: str) -> None:
        words = session.case_label(name)
        if kind == "RUN":
            self.progress.running(words)
        else:
            self.progress.result(kind, words, counts=not session.is_fixture(name))

    def _passed(self) -> tuple[Counter[Key], Counter[Key]]:
        """Numbers of launches that passed, by case; and of those that were not disturbed."""
        launches = [launch for launch in scan(self.tree.path) if launch.status == "passed"]
        return (
            Counter(launch.key for launch in launches),
            Counter(launch.key for launch in launches if not launch.disturbed),
        )

    def _wanted(self) -> list[Expected]:
        """Cases that need another launch: first those with too few, then the disturbed ones."""
        passed, undisturbed = self._passed()
        alive = [item for item in self.expected if not self._given_up(item, passed)]
        short = [item for item in alive if passed[item.key] < self.campaign.launches]
        most = self.campaign.launches + self.campaign.extra_launches
        return short or [
            item
            for item in alive
            if undisturbed[item.key] < self.campaign.launches and passed[item.key] < most
        ]

    def _given_up(self, item: Expected, passed: Counter[Key]) -> bool:
        limit = GIVE_UP_AFTER if not passed[item.key] else self.campaign.launches
        return self._failures[item.key] >= limit

    def _left(self, wanted: Iterable[Expected]) -> int:
        passed, _ = self._passed()
        return sum(max(1, self.campaign.launches - passed[item.key]) for item in wanted)


def _words(launch: Launch) -> str:
    """Why a launch failed, and the end of what its job wrote to standard error."""
    try:
        error = (launch.folder / "rfm_job.err").read_bytes()[-4096:] if launch.folder else b""
    except OSError:
        error = b""
    return f"{launch.reason}\n{error.decode(errors='replace')}"


def launch_confirmation(night: Runner, cases: Collection[str], launches: int) -> str:
    """Launch each of `cases` so often, in rounds; why none was launched, "" if one was.

    `night` has run, and was given ``confirm``.  Each case is launched on the nodes that its
    launches of the night ran on, where Slurm has them in use.  A round that would not end in time
    is not begun; the first one is expected to take as long as launches of the night did.
    """
    wanted = [item for item in night.expected if item.case.id in cases and not item.simulated]
    left_s = min(60 * (night.campaign.confirm_minutes or 0.0), night.deadline - time.monotonic())
    needed_s = night.launch_s * len(wanted)
    why = ""
    if not wanted:
        why = "none of the cases is launched by this campaign"
    elif left_s <= 0 or needed_s > left_s:
        why = f"no time was left: a round takes {duration(needed_s)}, of {duration(left_s)}"
    note = {"schema": 1, "launches": launches, "why_not": why}
    (night.tree.path / "env" / records.CONFIRMATION_FILE).write_text(json.dumps(note) + "\n")
    if why:
        return why
    wanted = list(_on_same_nodes(night, wanted))
    inner = tree.inner_tree(night.tree, records.CONFIRMATION, wanted, launches)
    title = f"{night.campaign.title}: launching again what was worse"
    limited = replace(
        night.campaign, title=title, launches=launches, time_limit_minutes=left_s / 60
    )
    with inner:
        Runner(limited, night.site, inner, wanted, night.progress).run()
    return ""


def _on_same_nodes(night: Runner, wanted: Sequence[Expected]) -> Iterator[Expected]:
    """The cases, with the node list of their launches of the night where Slurm has all in use."""
    known = nodes.known_nodes(night.site, {item.case.partition for item in wanted})
    in_use = {
        partition: {node.name.partition(".")[0]: node.name for node in listed if not node.lost}
        for partition, listed in known.items()
    }
    used: defaultdict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    for launch in scan(night.tree.path):
        if launch.status == "passed" and not launch.disturbed:
            hosts = frozenset(host.partition(".")[0] for host in launch.run["hosts"])
            used[launch.case_id][hosts] += 1
    for item in wanted:
        names = in_use.get(item.case.partition, {})
        hosts = next((most for most, _ in used[item.case.id].most_common(1)), frozenset())
        if not item.pairs and len(hosts) == item.nodes and hosts <= names.keys():
            item = replace(item, nodelist=tuple(sorted(names[host] for host in hosts)))
        yield item
