"""Reads the folder of a launch, and makes the records of launches for the tables of a bundle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import bundle_tables, identity, records, samples
from roundtrip.measure.bundle_rows import Status
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import Allocation
from roundtrip.units import plural

SAMPLES_FILE = "samples.csv"
_LAUNCH_FILES = ("case.json", "run.json", SAMPLES_FILE, records.LINK_FILE, identity.ALLOCATION_FILE)


@dataclass(frozen=True)
class Launch:
    """A launch of a run, whatever came of it; `reason` says why it did not pass.

    `id` is ``<session>/<environ>/<folder name>``; `session` is its folder in ``rounds/``,
    `campaign_round` the number of its round, None if unknown.  `case_record` and `run_record` are
    case.json and run.json, {} if they cannot be read.  `nodes` are those that the scheduler
    allocated, `nodes_down` those of them that failed.  `samples_sha256` is that of samples.csv, ""
    if the launch failed, `rows_sha256` that without its ``#`` lines.
    """

    id: str
    case_id: str
    status: Status
    reason: str
    session: str
    environ: str
    folder: Path | None = None
    case_record: dict[str, Any] = field(default_factory=dict)
    run_record: dict[str, Any] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
    nodes_down: tuple[str, ...] = ()
    disturbance_reasons: tuple[str, ...] = ()
    samples_sha256: str = ""
    rows_sha256: str = ""
    campaign_round: int | None = None

    @property
    def launch_key(self) -> tuple[str, tuple[str, ...]]:
        """The case id, and the nodes that the launch requested; () if the scheduler chose them."""
        return self.case_id, tuple(self.case_record.get("hosts", ()))


def read_launch(root: Path, folder: Path, session: str) -> Launch:
    """Read a launch of `session` from its `folder` in the run tree `root`: passed, or failed, by
    its own files alone.  Cached while they do not change.

    It does not raise UserError.  The case id is "" without a good case.json; other jobs on its
    nodes are the only reason of a disturbance.
    """
    stamps = tuple(files.change_stamp(folder / name) for name in _LAUNCH_FILES)
    return _read_launch_cached(root, folder, session, stamps)


@cache
def _read_launch_cached(
    root: Path, folder: Path, session: str, stamps: tuple[tuple[int, ...], ...]
) -> Launch:
    case: dict[str, Any] = {}
    run: dict[str, Any] = {}
    allocation, digest, rows_digest = None, "", ""
    try:
        case = records.read_record(folder / "case.json", root)
        allocation = _read_allocation(folder, root, case)
        run = records.read_record(folder / "run.json", root)
        content = files.read_in_tree(folder / SAMPLES_FILE, root, files.MAX_SAMPLES_BYTES)
        # The head says when the file was written.
        rows = b"".join(line for line in content.splitlines(True) if not line.startswith(b"#"))
        digest, rows_digest = files.sha256(content), files.sha256(rows)
        sample_file = samples.parse_limited(content, folder / SAMPLES_FILE)
        fault = _content_failure_reason(case, run, sample_file, digest)
        if not fault and (link_record := records.read_link_record(folder, root)):
            fault = link_failure_reason(link_record)
        fault = fault or identity.mismatch_reason(case, run, allocation, sample_file.moved_bytes)
    except UserError as error:
        fault = str(error)
    environ, other_jobs = folder.parent.name, allocation.other_jobs if allocation else ""
    return Launch(
        id=f"{session}/{environ}/{folder.name}",
        case_id=records.case_id(case) if case else "",
        status="failed" if fault else "passed",
        reason=fault.replace(f"{folder}/", ""),
        session=session,
        environ=environ,
        folder=folder,
        case_record=case,
        run_record=run,
        nodes=allocation.nodes if allocation else (),
        disturbance_reasons=(other_jobs,) if other_jobs else (),
        samples_sha256=digest,
        rows_sha256=rows_digest,
    )


def error_tail(folder: Path, root: Path | None = None, max_bytes: int = 4096) -> str:
    """Return the end of the standard error of the launch in `folder`; "" if unreadable."""
    try:
        end = files.read_tail_in_tree(folder / "rfm_job.err", root, max_bytes)
    except UserError:
        return ""
    return end.decode("utf-8", errors="replace")


def folder_mismatch_reason(folder: Path) -> str:
    """Return the first mismatch of the launch in `folder`, "" if none; UserError if unreadable."""
    case, run = records.read_record(folder / "case.json"), records.read_record(folder / "run.json")
    moved_bytes = samples.read(folder / SAMPLES_FILE).moved_bytes
    return identity.mismatch_reason(case, run, _read_allocation(folder, folder, case), moved_bytes)


def _read_allocation(folder: Path, root: Path, case: dict[str, Any]) -> Allocation | None:
    """Read the allocation of a launch that a scheduler ran; None for any other launch."""
    scheduler = schedulers.scheduler_of_key(case.get("scheduler"))
    if not scheduler.allocates_nodes or case["simulated"]:
        return None
    return identity.read_allocation(scheduler, folder, root)


def _content_failure_reason(
    case: dict[str, Any], run: dict[str, Any], sample_file: samples.Samples, digest: str
) -> str:
    if not run["complete"]:
        return "run.json: the workload did not complete"
    if run["ranks"] != case.get("num_tasks", run["ranks"]):
        return f"ran with {run['ranks']} ranks instead of {case['num_tasks']}"
    if case["simulated"] and not run.get("simulated"):
        return "case.json says that it is simulated, but run.json names no simulator"
    if run.get("simulated") and not case["simulated"]:
        return "run.json names a simulator, but case.json says that it is not simulated"
    is_blank = [problem.message for problem in sample_file.faults] == [samples.NO_ROW_MESSAGE]
    if is_blank and {point["status"] for point in run["points"]} == {"budget"}:
        budget, disturbance = run.get("budget_s"), run.get("disturbance") or {}
        seconds = f" of {budget:g} s" if isinstance(budget, int | float) else ""
        loads = [load for load in disturbance.get("load_average_start") or () if load is not None]
        load = f", at a load average of {max(loads):.1f}" if loads else ""
        spent = f"its budget{seconds} was spent before anything was measured"
        return f"{spent}{load}: give it a larger one"
    if sample_file.faults:
        rest = len(sample_file.faults) - 1
        return str(sample_file.faults[0]) + (f" (and {rest} more)" if rest else "")
    studies = sample_file.frame["study"].unique().to_list()
    if studies != [case["study"]]:
        return f"samples.csv is of study {', '.join(sorted(studies))}, not {case['study']}"
    return samples.seal_mismatch(digest, sample_file.frame, run["samples"])


#: Mean lateness of frames at which a launch fails, µs.
MAX_LATENESS_US = 500.0
#: A program may see so many times the link's own delay, or so many ms if that is more.
_MAX_SLOWDOWN, _SLACK_MS = 10.0, 1.0
_SETTING_FORMATS = {
    "rtt_ms": "RTT {:g} ms",
    "rate_bit_s": "{:g} bit/s",
    "loss": "loss {:g}",
    "queue_bytes": "queue {:g} B",
    "seed": "seed {:g}",
    "up": "up: {}",
}


def link_failure_reason(record: dict[str, Any]) -> str:
    """Return why a launch over the emulated link in this link.json is not valid; "" if it is."""
    settings, before, after = record["asked"], record["before"], record["after"]
    if after is None:
        return "the link did not answer when the launch ended"
    if after["started_ns"] != before["started_ns"]:
        return "the link was started anew under the launch"
    changes, directions = after["changes"] - before["changes"], after["directions"]
    differences = _setting_differences(settings, before) or _setting_differences(settings, after)
    cut = sum(direction.get("cut") or 0 for direction in directions)
    cut_text = f"{plural(cut, 'frame')} cut" if cut else ""
    if changes or record["broken"] or differences:
        times = f" {changes} times" if changes > 1 else ""
        details = [f"lease broken by {request}" for request in record["broken"]]
        details += differences or filter(None, [cut_text])
        return f"link changed{times}" + (f": {', '.join(details)}" if details else "")
    if cut:
        return cut_text
    drops = sum(direction.get("dropped") or 0 for direction in directions)
    drops += after.get("send_errors") or 0
    if drops and not settings["loss"] and not settings["rate_bit_s"]:
        return f"{drops} frames dropped by the link, which was to lose none"
    lateness = max((d.get("late_us_mean") or 0.0 for d in directions), default=0.0)
    return (
        f"the link was late by {lateness:.0f} us on average" if lateness >= MAX_LATENESS_US else ""
    )


def max_one_way_ms(record: dict[str, Any]) -> float | None:
    """Return the limit for half of a launch's fastest round trip over a link, ms; None if unknown.

    It is half the requested RTT, plus ample time according to the pings in this link.json.
    """
    tests = [record["before"]["self_test"], (record["after"] or {}).get("self_test")]
    excesses = [t["p50_ms"] - t["asked_ms"] for t in tests if t and t["p50_ms"] is not None]
    if not excesses:
        return None
    return float(record["asked"]["rtt_ms"] / 2 + max(_SLACK_MS, _MAX_SLOWDOWN * max(excesses)))


def _setting_differences(settings: dict[str, Any], status: dict[str, Any]) -> list[str]:
    return [
        f"{form.format(settings[name])} asked, {form.format(status[name])} found"
        for name, form in _SETTING_FORMATS.items()
        if settings[name] != status[name]
    ]


_CASE_ID_PATTERN = re.compile(
    r"^(?P<check>[^/]+)/(?P<parameters>.*)"
    r"@(?P<system>[^:@]+):(?P<partition>[^+@]+)\+(?P<environ>[^@]+)$"
)
#: Columns that need no redaction: our own names and numbers, or pseudonyms.
_PUBLIC_COLUMNS = (
    *("launch", "study", "status", "round", "hosts", "nodes_down"),
    *("placement", "nodes", "started"),
)
#: Entries of run.json that a record copies unchanged.
_COPIED_COLUMNS = (
    *("boost", "clock", "disturbance", "elapsed_s", "points", "ranks", "timing"),
    "warmup_discarded",
)
#: Columns that identify the case; bare names of hosts in them are not replaced.
_CASE_ID_COLUMNS = {"case_id", "check", "system", "partition", "environ"}


def launch_records(
    launches: Sequence[Launch], state: dict[str, Any], redactor: Redactor
) -> list[dict[str, Any]]:
    """Return redacted records for `bundle_tables.make_tables`: of `launches`, then of the missing
    launches and the skipped cases of `state`, the state.json."""
    studies = {
        launch.case_id: launch.case_record["study"] for launch in launches if launch.case_record
    }
    study_by_check = {case_id.split("/")[0]: study for case_id, study in studies.items()}
    rows = [_launch_record(launch, study_by_check, redactor) for launch in launches]
    rows += _missing_records(launches, state, study_by_check)
    for number, entry in enumerate(state["skipped"], 1):
        row = {**_case_columns(entry["case"], study_by_check), "launch": f"skipped/{number:04d}"}
        rows.append({**row, "status": "skipped", "reason": entry["reason"]})
    launch_counts = {entry["case"]: entry["launches"] for entry in state["expected"]}
    public_rows = []
    for row in rows:
        row["wanted"] = launch_counts.get(row["case_id"])
        cells = {name: row[name] for name in _PUBLIC_COLUMNS if name in row}
        for name in _CASE_ID_COLUMNS & row.keys():
            cells[name] = redactor.redact_private_parts(row[name], f"cases.parquet {name}")
        texts = {name: value for name, value in row.items() if name not in cells}
        public_rows.append({**redactor.redact_json(texts, "cases.parquet"), **cells})
    return public_rows


def require_column_types(launch: Launch) -> None:
    """Raise an exception (of any kind) if a value of the launch does not fit its column."""
    bundle_tables.make_tables([_launch_record(launch, {}, Redactor(Pseudonyms((), b"")))])


def _launch_record(
    launch: Launch, study_by_check: dict[str, str], redactor: Redactor
) -> dict[str, Any]:
    case, run = launch.case_record, launch.run_record
    row = {
        "launch": launch.id,
        **_case_columns(launch.case_id, study_by_check),
        "status": launch.status,
        "reason": launch.reason,
        "round": launch.session,
        "campaign_round": launch.campaign_round,
        "disturbed": bool(launch.disturbance_reasons),
        "disturbed_why": "; ".join(launch.disturbance_reasons),
        "nodes_down": [redactor.pseudonym(node) for node in launch.nodes_down] or None,
    }
    if case:
        toolchain = case.get("extras", {}).get("toolchain")
        row |= {
            "toolchain": toolchain if isinstance(toolchain, str) else case["environ"],
            "parameters": case["parameters"],
            "emulated": case["emulated"],
            "simulated": case["simulated"],
            "hosts": [redactor.pseudonym(host) for host in case.get("hosts", ())] or None,
        }
    if run:
        compiler = run.get("compiler") or {}
        version = [compiler.get("id"), compiler.get("version")]
        row |= {name: run.get(name) for name in _COPIED_COLUMNS}
        row |= {
            "started": run["start_time"],
            "sealed": samples.is_full_seal(run["samples"]),
            "taken": run["samples"]["rows"],
            "hosts": [redactor.pseudonym(host) for host in run["hosts"]],
            "mpi_library": redactor.redact_mpi_library((run.get("mpi") or {}).get("library") or "")
            or None,
            "mpi_build": next((rank.get("build") for rank in run.get("identity") or ()), None),
            "compiler": " ".join(str(part) for part in version if part) or None,
            "compiler_flags": compiler.get("flags"),
            "placement": redactor.redact_json(run.get("placement")),
            # The kernel of a simulated launch is that of the machine that simulates it.
            "nodes": None if case["simulated"] else redactor.redact_json(run.get("nodes")),
            "simulation": run.get("simulated") if launch.status == "passed" else None,
            "details": run.get(case["study"]),  # entries of this study's workload only
        }
    return row


def _missing_records(
    launches: Sequence[Launch], state: dict[str, Any], study_by_check: dict[str, str]
) -> list[dict[str, Any]]:
    counts = Counter((launch.case_id, launch.status) for launch in launches)
    skip_reasons = {item.case_id: item.reason for item in launches if item.status == "skipped"}
    last_failures = {item.case_id: item.reason for item in launches if item.status == "failed"}
    rows: list[dict[str, Any]] = []
    stop = f"; stopped: {state['stopped']}" if state.get("stopped") else ""
    for entry in state["expected"]:
        case, target = entry["case"], entry["launches"]
        passed, failed, partial = (counts[case, s] for s in ("passed", "failed", "partial"))
        why = "was never launched"
        if passed or failed or partial:
            why = f"{passed} of {target} launches completed, {failed} failed"
        why += f", {partial} partial" if partial else ""
        why += f"; the last failure: {last_failures[case]}" if case in last_failures else ""
        why += f"; skipped itself: {skip_reasons[case]}" if case in skip_reasons else ""
        for number in range(passed, target):
            reason = f"launch {number + 1} of {target}: {why}{stop}"
            row = {"launch": f"missing/{len(rows) + 1:04d}", **_case_columns(case, study_by_check)}
            rows.append({**row, "status": "missing", "reason": reason})
    return rows


def _case_columns(case_id: str, study_by_check: dict[str, str]) -> dict[str, Any]:
    """Return the columns that follow from a case id; `study_by_check` has the study."""
    match = _CASE_ID_PATTERN.match(case_id)
    if not match:
        return {"case_id": case_id, "study": "", "check": case_id, "simulated": False}
    groups = match.groupdict()
    pairs = (item.split("=", 1) for item in groups.pop("parameters").split(",") if "=" in item)
    return {
        "case_id": case_id,
        "study": study_by_check.get(groups["check"], ""),
        **groups,
        "toolchain": groups["environ"],
        "parameters": dict(pairs),
        "simulated": False,
    }
