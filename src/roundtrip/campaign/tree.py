"""The tree of a campaign run, ``runs/<campaign>/<site>/<start, UTC>/``, locked while in use."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from roundtrip import model
from roundtrip.campaign.matrix import Expected, Matrix
from roundtrip.campaign.model import Campaign
from roundtrip.campaign.revision import Revision
from roundtrip.collect import analysis, records
from roundtrip.errors import UserError


class RunTree:
    """A run tree; as a context manager it holds the tree's lock, UserError if another run does.

    The ReFrame session inherits `lock_descriptor`, so that a session that outlives a killed runner
    still keeps others out.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = -1

    @property
    def lock_descriptor(self) -> int:
        return self._lock

    def __enter__(self) -> RunTree:
        self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise UserError(
                "another campaign is running in this tree; wait for it or stop it", self.path
            ) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._lock)

    @property
    def state(self) -> dict[str, Any]:
        """The content of state.json: what the run must produce, and when it ended."""
        return records.read_record(self.path / "state.json")

    def write_state(self, **changes: Any) -> None:
        """Change keys of state.json, by rename, so that a reader never sees half of it."""
        file = self.path / "state.json"
        state = {**(self.state if file.exists() else {}), **changes}
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(state, indent=1) + "\n")
        partial.replace(file)

    def finish(self) -> None:
        """Record that every expected launch has completed."""
        self.write_state(finished=_utc(datetime.now(UTC)))

    def ended_after(self, launches: int) -> None:
        """Record that so many launches of each case are all that the run wanted."""
        cases = [{**item, "launches": launches} for item in self.state["expected"]]
        self.write_state(expected=cases)

    def reported(self, page: Path) -> None:
        """Record where the report is."""
        self.write_state(report=str(page))

    @property
    def complete(self) -> bool:
        """Whether every launch completed, and the report was made if one was wanted."""
        state = self.state
        return state.get("finished") is not None and state.get("report") != "wanted"

    def next_round(self) -> int:
        """The number of a new round, higher than that of any session."""
        return 1 + max((records.read_round(folder) or 0 for folder in self._sessions()), default=0)

    def next_session(self, round_number: int) -> Path:
        """Make a folder ``rounds/NNN``, marked as part of that round; NNN is never used again."""
        number = 1 + max((int(folder.name) for folder in self._sessions()), default=0)
        folder = self.path / "rounds" / f"{number:03d}"
        folder.mkdir(parents=True)
        records.write_round(folder, round_number)
        return folder

    def next_build(self) -> Path:
        """Make a folder ``builds/NNN`` for a session that only builds."""
        number = 1 + sum(1 for path in (self.path / "builds").glob("*") if path.name.isdigit())
        folder = self.path / "builds" / f"{number:03d}"
        folder.mkdir(parents=True)
        return folder

    def _sessions(self) -> list[Path]:
        return [path for path in (self.path / "rounds").glob("*") if path.name.isdigit()]


def create(
    runs: Path,
    campaign: Campaign,
    site: str,
    matrix: Matrix,
    revision: Revision,
    thresholds: analysis.Analysis,
    report: bool = False,
    night: str | None = None,
) -> RunTree:
    """Make the tree of a new run, and record what is expected of it.

    The run keeps `thresholds`, by which it is judged whenever it is collected.  `report` says
    whether a report is wanted, `night` under which name the run begins.  UserError if the collector
    would refuse the record, or a run began in the same second.
    """
    start = datetime.now(UTC)
    state = _first_state(campaign, site, matrix, revision, report, _utc(start))
    state["night"] = night
    if fault := model.fault(records.State, state):
        raise UserError(f"the collector would refuse {fault}", campaign.file)
    path = runs / campaign.name / site / start.strftime("%Y%m%dT%H%M%SZ")
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        raise UserError(
            "a campaign was started here in this very second; try again", path
        ) from None
    shutil.copyfile(campaign.file, path / "campaign.toml")
    (path / analysis.FILE_NAME).write_text(thresholds.text, encoding="utf-8")
    tree = RunTree(path)
    tree.write_state(**state)
    return tree


def _first_state(
    campaign: Campaign, site: str, matrix: Matrix, revision: Revision, report: bool, started: str
) -> dict[str, Any]:
    """The content of state.json before the first launch."""
    return {
        "schema": 1,
        "campaign": campaign.name,
        "site": site,
        "started": started,
        "git": {"commit": revision.commit, "dirty": revision.dirty},
        "job": os.environ.get("SLURM_JOB_ID"),
        "repeats": campaign.launches,
        "expected": [
            {
                "case": item.case.id,
                "launches": item.launches(campaign.launches),
                "variables": dict(item.variables),
            }
            for item in matrix.expected
        ],
        "skipped": [{"case": item.case, "reason": item.reason} for item in matrix.skipped],
        "finished": None,
        "report": "wanted" if report else None,
    }


def part(tree: RunTree, name: str, expected: Sequence[Expected], launches: int) -> RunTree:
    """A tree inside that of a run, for launches that are no part of the run; made or gone on with.

    It wants `launches` of each case `expected`, and is judged by the thresholds of the run.
    """
    inner = RunTree(tree.path / name)
    (inner.path / "env").mkdir(parents=True, exist_ok=True)
    for file in ("campaign.toml", analysis.FILE_NAME, "env/host.json"):
        if (tree.path / file).is_file():
            shutil.copyfile(tree.path / file, inner.path / file)
    wanted = [
        {"case": item.case.id, "launches": launches, "variables": dict(item.variables)}
        for item in expected
    ]
    fresh = {"started": _utc(datetime.now(UTC)), "repeats": launches, "expected": wanted}
    inner.write_state(**{**tree.state, **fresh, "skipped": [], "report": None})
    return inner


def check_same_matrix(tree: RunTree, matrix: Matrix) -> None:
    """UserError if the campaign or the site has changed since the run of `tree` began.

    A state.json that says nothing of variables, which the collector takes, is of another matrix.
    """
    begun = {item["case"]: item.get("variables") for item in tree.state["expected"]}
    now = {item.case.id: dict(item.variables) for item in matrix.expected}
    if begun != now:
        case = min(set(begun) ^ set(now) or {key for key in now if begun[key] != now[key]})
        raise UserError(
            f"campaign or site has changed since this run began (case {case}); start a new run",
            tree.path / "state.json",
        )


def unfinished(runs: Path, campaign: str, site: str) -> RunTree:
    """The newest run of `campaign` on `site` that lacks launches or its report.

    UserError if there is none.
    """
    folder = runs / campaign / site
    for path in sorted(folder.glob("*/state.json"), reverse=True):
        tree = RunTree(path.parent)
        if not tree.complete:
            return tree
    raise UserError(f"no unfinished run of '{campaign}' on site '{site}' to resume", folder)


def begun_by(runs: Path, campaign: str, site: str, night: str) -> RunTree | None:
    """The newest run of `campaign` on `site` that began under the name `night`; None without one.

    The number of a Slurm job would not do as a name, because Slurm uses numbers again.
    """
    for path in sorted((runs / campaign / site).glob("*/state.json"), reverse=True):
        tree = RunTree(path.parent)
        if tree.state.get("night") == night:
            return tree
    return None


def _utc(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
