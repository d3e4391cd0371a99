"""The tree of a campaign run, ``runs/<campaign>/<site>/<start, UTC>/``; locks of tree and site.

One campaign measures on a site at a time: two would disturb each other.  The lock of a site is the
file ``$XDG_STATE_HOME/roundtrip/sites/<site>.lock`` (by default below ``~/.local/state``), so that
all checkouts and run folders of a user share it.  It is released when its process ends.  Launches
request exclusive nodes, so that the scheduler excludes jobs of other users.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roundtrip import files, model, paths
from roundtrip.errors import UserError
from roundtrip.measure import analysis, records
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.progress import describe_duration
from roundtrip.sites import schedulers
from roundtrip.sites.site import Site

#: Pause between two tries to lock a site.
_LOCK_RETRY_S = 2.0


def git_revision(checkout: Path) -> dict[str, Any]:
    """Return the checked-out `commit`, and whether tracked files differ from it (`dirty`); both are
    None without git or repository."""
    try:
        commit = git_output(checkout, "rev-parse", "HEAD")
        changes = git_output(checkout, "status", "--porcelain", "--untracked-files=no")
    except OSError:  # no git
        commit = changes = None
    if commit is None or changes is None:
        return {"commit": None, "dirty": None}
    return {"commit": commit, "dirty": bool(changes)}


def git_output(checkout: Path, *arguments: str) -> str | None:
    """Run git in `checkout` and return its standard output, stripped; None if git fails."""
    command = ["git", "-C", str(checkout), *arguments]
    process = subprocess.run(command, capture_output=True, text=True)
    return None if process.returncode else process.stdout.strip()


class RunTree:
    """The folder of a run.  As a context manager it holds its lock; UserError if another run does.

    ReFrame inherits `lock_descriptor`, so that a session that outlives a killed runner still holds
    the lock.  `path` becomes absolute and free of symbolic links, as schedulers name folders.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.lock_descriptor = -1

    def __enter__(self) -> RunTree:
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self.lock_descriptor = os.open(self.path / "lock", flags, 0o644)
        if not files.try_lock(self.lock_descriptor):
            os.close(self.lock_descriptor)
            message = "another campaign is running in this tree; wait for it or stop it"
            raise UserError(message, self.path)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.lock_descriptor)

    @property
    def state(self) -> dict[str, Any]:
        """The content of state.json, read anew: the expected launches, and the run's end."""
        return records.read_record(self.path / "state.json")

    def write_state(self, **changes: Any) -> None:
        """Change keys of state.json atomically, by rename."""
        file = self.path / "state.json"
        state = {**(self.state if file.exists() else {}), **changes}
        files.replace_file(file, (json.dumps(state, indent=1) + "\n").encode())

    def record_finish(self) -> None:
        """Record in state.json that every expected launch has completed, with the time (UTC)."""
        self.write_state(finished=_utc_text(datetime.now(UTC)))

    def record_launch_count(self, launches: int) -> None:
        """Record in state.json that the run needs `launches` launches of each case."""
        cases = [{**item, "launches": launches} for item in self.state["expected"]]
        self.write_state(expected=cases)

    @property
    def is_complete(self) -> bool:
        """Whether the end of the run is recorded, and the report was made if one was wanted."""
        state = self.state
        return state.get("finished") is not None and state.get("report") != "wanted"

    def next_round_number(self) -> int:
        """The number of the next round, from 1."""
        rounds = (
            records.read_round_number(folder) or 0 for folder in self._numbered_folders("rounds")
        )
        return 1 + max(rounds, default=0)

    def make_session_folder(self, round_number: int) -> Path:
        """Make a folder ``rounds/NNN`` for a session, with the number of its round."""
        folder = self._make_numbered_folder("rounds")
        records.write_round_number(folder, round_number)
        return folder

    def make_build_folder(self) -> Path:
        """Make a new folder ``builds/NNN`` for a session that only builds."""
        return self._make_numbered_folder("builds")

    def _make_numbered_folder(self, kind: str) -> Path:
        number = 1 + max((int(folder.name) for folder in self._numbered_folders(kind)), default=0)
        folder = self.path / kind / f"{number:03d}"
        folder.mkdir(parents=True)
        return folder

    def _numbered_folders(self, kind: str) -> list[Path]:
        return [path for path in (self.path / kind).glob("*") if path.name.isdigit()]


def create_tree(
    runs: Path,
    campaign: Campaign,
    site: Site,
    matrix: Matrix,
    report: bool = False,
    night: str | None = None,
) -> RunTree:
    """Make the tree of a new run: state.json with the launches that it must produce, and copies of
    the campaign and of the site's thresholds.

    `report` is whether a report is wanted, `night` the name by which `find_night_run` finds the
    run. UserError if the collector would refuse state.json, or a run began in the same second.
    """
    start = datetime.now(UTC)
    state = {
        "schema": 1,
        "campaign": campaign.name,
        "site": site.name,
        "started": _utc_text(start),
        "git": git_revision(site.checkout),
        "job": schedulers.current_job_id(),
        "repeats": campaign.launches,
        "expected": [
            _expected_entry(item, item.launch_count(campaign.launches)) for item in matrix.expected
        ],
        "skipped": [{"case": item.case_id, "reason": item.reason} for item in matrix.skipped],
        "finished": None,
        "report": "wanted" if report else None,
        "night": night,
    }
    if fault := model.find_fault(records.StateRecord, state):
        raise UserError(f"the collector would refuse {fault}", campaign.file)
    path = runs / campaign.name / site.name / start.strftime("%Y%m%dT%H%M%SZ")
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        why = "a campaign was started here in this very second; try again"
        raise UserError(why, path) from None
    shutil.copyfile(campaign.file, path / "campaign.toml")
    thresholds = analysis.load_site_settings(site.name).toml_text
    (path / analysis.ANALYSIS_FILE).write_text(thresholds, encoding="utf-8")
    tree = RunTree(path)
    tree.write_state(**state)
    return tree


def make_inner_tree(
    tree: RunTree, name: str, expected: Sequence[ExpectedCase], launches: int
) -> RunTree:
    """Make, or open again, the tree `name` inside the tree of a run, for `launches` further
    launches of each case that do not count for the run; it has the run's thresholds."""
    inner = RunTree(tree.path / name)
    (inner.path / "env").mkdir(parents=True, exist_ok=True)
    for file in ("campaign.toml", analysis.ANALYSIS_FILE, "env/host.json"):
        if (tree.path / file).is_file():
            shutil.copyfile(tree.path / file, inner.path / file)
    cases = [_expected_entry(item, launches) for item in expected]
    changes = {"started": _utc_text(datetime.now(UTC)), "repeats": launches, "expected": cases}
    inner.write_state(**{**tree.state, **changes, "skipped": [], "report": None})
    return inner


def _expected_entry(item: ExpectedCase, launches: int) -> dict[str, Any]:
    return {"case": item.case.id, "launches": launches, "variables": dict(item.variables)}


def require_same_matrix(tree: RunTree, matrix: Matrix) -> None:
    """UserError if cases or their variables in `matrix` differ from those in the run's state.json;
    one without variables, which the collector accepts, differs."""
    old = {item["case"]: item.get("variables") for item in tree.state["expected"]}
    new = {item.case.id: dict(item.variables) for item in matrix.expected}
    if old != new:
        case = min(old.keys() ^ new.keys() or {key for key in new if old[key] != new[key]})
        message = f"campaign or site has changed since this run began (case {case})"
        raise UserError(f"{message}; start a new run", tree.path / "state.json")


def newest_unfinished_run(runs: Path, campaign: str, site: str) -> RunTree:
    """The newest run that lacks launches or its report; UserError without one."""
    for tree in _trees_newest_first(runs / campaign / site):
        if not tree.is_complete:
            return tree
    message = f"no unfinished run of '{campaign}' on site '{site}' to resume"
    raise UserError(message, runs / campaign / site)


def find_night_run(runs: Path, campaign: str, site: str, night: str) -> RunTree | None:
    """The newest run of `campaign` on `site` that was created with the name `night`; None without
    one.  Job numbers are no such names, because schedulers reuse them."""
    trees = _trees_newest_first(runs / campaign / site)
    return next((tree for tree in trees if tree.state.get("night") == night), None)


def _trees_newest_first(folder: Path) -> Iterator[RunTree]:
    for path in sorted(folder.glob("*/state.json"), reverse=True):
        yield RunTree(path.parent)


def _utc_text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


@contextlib.contextmanager
def hold_site(site: Site, campaign: str, wait: bool, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of `site` for `campaign` while the block runs.

    If another campaign holds it, UserError with its name or, with `wait`, wait for its end and
    report that by `tell` from time to time.  UserError also if the lock file cannot be written.
    """
    # A machine without a scheduler has its own lock, even if its home is shared.
    local = all(partition["scheduler"] == "local" for partition in site.partitions.values())
    name = f"{site.name}@{socket.gethostname()}" if local else site.name
    path = paths.state() / "sites" / f"{name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("a+", encoding="utf-8")
    except OSError as error:
        reason = f"cannot hold the site: {error.strerror}; set XDG_STATE_HOME to a folder of yours"
        raise UserError(reason, path) from None
    with lock as file:
        start_s, message_s = time.monotonic(), float("-inf")
        while not files.try_lock(file):
            holder = path.read_text(errors="replace").strip() or "a campaign that is starting"
            message = f"site '{site.name}' is being measured by {holder}"
            if not wait:
                raise UserError(f"{message}: stop it, or wait for it with --wait")
            if time.monotonic() - message_s >= 600:
                message_s = time.monotonic()
                wait_s = message_s - start_s
                since = f", for {describe_duration(wait_s)}" if wait_s > _LOCK_RETRY_S else ""
                tell(f"{message}: waiting for it to end{since}")
            time.sleep(_LOCK_RETRY_S)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        process = f"process {os.getpid()} on {socket.gethostname()}"
        file.seek(0)
        file.truncate()
        file.write(f"campaign '{campaign}' since {since} ({process})\n")
        file.flush()
        yield
