"""Judges a run tree after a fault: nothing lost, nothing doubled, no false green; and counts."""

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from roundtrip.measure.launches import scan_launches

#: Why a test of the whole drill is skipped.
MANY = "one of many faults of its kind: make faults"


@dataclass
class Row:
    """Faults injected, and launches or invocations in which something went wrong after them.

    `resumed` counts runs that were completed exactly after such faults, of those `begun`.
    """

    injected: int = 0
    lost: int = 0
    doubled: int = 0
    false_green: int = 0
    begun: int = 0
    resumed: int = 0

    @property
    def breaches(self) -> int:
        return self.lost + self.doubled + self.false_green + self.begun - self.resumed


_HEAD = ("fault", "injected", "lost", "doubled", "false green", "resumed")


class Tally(defaultdict[str, Row]):
    """Rows by kind of fault."""

    def __init__(self) -> None:
        super().__init__(Row)

    def lines(self) -> list[str]:
        rows = [_cells(kind, row) for kind, row in sorted(self.items())]
        total = Row()
        for row in self.values():
            for name in vars(total):
                setattr(total, name, getattr(total, name) + getattr(row, name))
        table = [_HEAD, *rows, _cells("total", total)]
        if not total.injected:
            table.append(("no fault was injected", *[""] * (len(_HEAD) - 1)))
        widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
        return [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in table
        ]


def _cells(kind: str, row: Row) -> tuple[str, ...]:
    breaches = (row.lost, row.doubled, row.false_green)
    return (kind, str(row.injected), *map(str, breaches), f"{row.resumed}/{row.begun}")


#: Of this session.
TALLY = Tally()


def fingerprint(folder: Path) -> str:
    """Of the bytes of a launch's files, absent ones too."""
    digest = hashlib.sha256()
    for name in ("case.json", "run.json", "samples.csv"):
        file = folder / name
        digest.update(file.read_bytes() if file.is_file() else b"absent")
        digest.update(b"\0")
    return digest.hexdigest()


def whole_launches(tree: Path) -> Counter[str]:
    """Launches that completed, by check: counted without the product's scanner."""
    counts: Counter[str] = Counter()
    for file in tree.glob("rounds/*/output/*/*/*/*/run.json"):
        try:
            run = json.loads(file.read_text())
            case = json.loads(file.with_name("case.json").read_text())
            lines = file.with_name("samples.csv").read_text().splitlines()
            rows = sum(not line.startswith("#") for line in lines) - 1
        except (OSError, ValueError):
            continue
        if run.get("complete") and run["samples"]["rows"] == rows:
            counts[case["check"]] += 1
    return counts


def _link_was_touched(folder: Path | None) -> bool:
    """Whether the link's own counters show a change or a cut under the launch."""
    file = folder / "link.json" if folder else None
    if file is None or not file.exists():
        return False
    link = json.loads(file.read_text())
    before, after = link["before"], link["after"]
    was_changed = any(before[key] != after[key] for key in ("changes", "started_ns", "rtt_ms"))
    return was_changed or any(direction["cut"] for direction in after["directions"])


class Oracle:
    """Remembers what has passed in the one tree below `runs`, and counts breaches in a row."""

    def __init__(self, runs: Path, launches: int, cases: int) -> None:
        self._runs = runs
        self._launches = launches
        self._cases = cases
        self._passed: dict[str, str] = {}

    @property
    def tree(self) -> Path | None:
        """None if no run has begun."""
        states = list(self._runs.glob("*/*/*/state.json"))
        assert len(states) <= 1, "one run only: resumed, never begun anew"
        return states[0].parent if states else None

    @property
    def whole(self) -> bool:
        """Every case has its launches."""
        counts = whole_launches(self.tree) if self.tree else Counter()
        return len(counts) == self._cases and all(n >= self._launches for n in counts.values())

    def examine(self, row: Row, status: int | None = None) -> None:
        """Compare with what was there before; `status`: of an invocation that has just ended."""
        if self.tree is None:
            row.false_green += status == 0
            return
        all_launches = scan_launches(self.tree)
        launches = [launch for launch in all_launches if launch.status == "passed"]
        fingerprints = {
            launch.id: fingerprint(launch.folder) for launch in launches if launch.folder
        }
        lost_ids = [id_ for id_, digest in self._passed.items() if fingerprints.get(id_) != digest]
        row.lost += len(lost_ids)
        for launch in (launch for launch in all_launches if launch.id in lost_ids):
            print(f"lost: {launch.id} is {launch.status} now: {launch.reason}")
        counts = Counter(launch.case_id for launch in launches).values()
        row.doubled += len(launches) - len(set(fingerprints.values()))
        row.doubled += sum(max(0, count - self._launches) for count in counts)
        self._passed = fingerprints
        end_time = json.loads((self.tree / "state.json").read_text())["finished"]
        row.false_green += (status == 0 or end_time is not None) and not self.whole
        row.false_green += sum(whole_launches(self.tree).values()) < len(launches)
        row.false_green += sum(map(_link_was_touched, (launch.folder for launch in launches)))
