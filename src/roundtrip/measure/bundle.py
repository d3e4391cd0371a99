"""Builds the bundle of a campaign run: all its public data, in a folder named by its digest."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Callable, Sequence
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError, report_write_errors
from roundtrip.measure import (
    analysis,
    bundle_tables,
    manifest,
    pseudonyms,
    reader,
    records,
    samples,
    signature,
)
from roundtrip.measure.bundle_rows import SERIES_COLUMNS
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.launch import SAMPLES_FILE, Launch, launch_records
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.pseudonyms import Pseudonyms, host_names
from roundtrip.measure.public_files import (
    WITHHELD_FILE,
    EnvironmentFiles,
    public_campaign_toml,
    public_thresholds_toml,
)

_RECORDED_TOOLS = ("roundtrip", "polars", "numpy", "scipy", "jinja2")


def build_bundle(
    run_dir: Path, bundles: Path | None = None, tell: Callable[[str], None] = lambda _: None
) -> Path:
    """Write and sign the bundle of a run; return ``<bundles>/<first 16 digits of its digest>``.

    `bundles` is ``run_dir/bundles`` by default; `tell` gets the reason if it is not signed.
    UserError if `run_dir` is not the tree of a campaign run, or if none of its launches completed.
    """
    folder = bundles or run_dir / "bundles"
    if folder.is_symlink():
        raise UserError("a symbolic link: bundles are not written through one", folder)
    thresholds = analysis.load_run_settings(run_dir)
    launches = _scan_reportable(run_dir, thresholds)
    inner_tree, confirmation = run_dir / records.CONFIRMATION_FOLDER, list[Launch]()
    if not inner_tree.is_symlink() and (inner_tree / "state.json").is_file():
        with contextlib.suppress(UserError):  # none of its launches completed
            confirmation = _scan_reportable(inner_tree, thresholds)
    with report_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with files.draft_folder(folder) as partial:
            if confirmation:
                inner = partial / records.CONFIRMATION_FOLDER
                inner.mkdir()
                _write_bundle(inner_tree, confirmation, thresholds, inner)
            unsigned_manifest = _write_bundle(run_dir, launches, thresholds, partial)
            signed_manifest = signature.sign(partial, unsigned_manifest, tell)
            final = folder / signed_manifest.digest[:16]
            if final.exists():
                manifest.verify(final)
                return final
            try:
                partial.rename(final)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            return final


def _scan_reportable(run_dir: Path, thresholds: analysis.AnalysisSettings) -> list[Launch]:
    """Return all launches of a run tree; UserError if it is invalid, or no launch completed."""
    reader.require_decodable_json(run_dir)
    records.read_record(run_dir / "state.json")
    launches = scan_launches(run_dir, thresholds)
    if not any(item.status == "passed" for item in launches):
        why = "no launch in this run: nothing to report"
        if launches:
            why = f"none of {len(launches)} launches completed; the first: {launches[0].reason}"
        raise UserError(why, run_dir)
    return launches


def _write_bundle(
    run_dir: Path, launches: Sequence[Launch], thresholds: analysis.AnalysisSettings, folder: Path
) -> manifest.Manifest:
    """Write the unsigned bundle of a run tree to an empty folder; return its manifest."""
    state = records.read_record(run_dir / "state.json")
    passed = sorted((item for item in launches if item.status == "passed"), key=attrgetter("id"))
    environment = EnvironmentFiles.read(run_dir)
    campaign = files.read_text_in_tree(run_dir / "campaign.toml")
    contents = [
        content for launch in launches for content in (launch.case_record, launch.run_record)
    ]
    job_nodes = (node for launch in launches for node in launch.nodes)
    hosts = [*environment.host_names(), *host_names(contents), *job_nodes]
    redactor = Redactor(
        Pseudonyms(hosts, pseudonyms.ensure_site_key(state["site"])), environment.private_words()
    )
    rows = _read_samples(passed, run_dir, redactor)
    tables = bundle_tables.make_tables(launch_records(launches, state, redactor))
    level = thresholds.statistics.confidence_level
    medians = bundle_tables.launch_medians(rows.lazy(), tables.frames["cases"], level)
    bundle_tables.write_tables(tables, rows, medians, folder)
    limits = public_thresholds_toml(thresholds.toml_text, redactor)
    (folder / analysis.ANALYSIS_FILE).write_bytes(limits.encode())
    (folder / "campaign.toml").write_bytes(public_campaign_toml(campaign, redactor).encode())
    environment.write_public_parts(folder / "env", redactor)
    git = state.get("git") or {}
    commit, finished = redactor.redact_json(
        [git.get("commit"), state.get("finished")], "state.json"
    )
    facts = {
        **{key: state[key] for key in ("campaign", "site", "started")},
        "finished": finished,
        "git": {"commit": commit, "dirty": git.get("dirty")},
        "tools": {name: metadata.version(name) for name in _RECORDED_TOOLS},
        **nodes_not_measured(run_dir, redactor),
    }
    if redactor.credential_fields:
        note = {"schema": 1, "looked_like_credentials": sorted(redactor.credential_fields)}
        (folder / "env" / WITHHELD_FILE).write_text(json.dumps(note, indent=1) + "\n")
    return manifest.write_unsigned(folder, facts)


def _read_samples(launches: Sequence[Launch], root: Path, redactor: Redactor) -> pl.DataFrame:
    frames = []
    for launch in launches:
        assert launch.folder is not None  # noqa: S101  a passed launch has one
        file = launch.folder / SAMPLES_FILE
        content = files.read_in_tree(file, root, files.MAX_SAMPLES_BYTES)
        if files.sha256(content) != launch.samples_sha256:
            raise UserError("was changed while it was collected; try again", file)
        rows = samples.parse_limited(content, file).frame
        frame = rows.sort("study", *SERIES_COLUMNS, "rep", maintain_order=True)
        case_id = pl.lit(redactor.redact_private_parts(launch.case_id)).alias("case_id")
        frames.append(frame.select(pl.lit(launch.id).alias("launch"), case_id, pl.all()))
    return pl.concat(frames, rechunk=True)


def nodes_not_measured(run_dir: Path, redactor: Redactor) -> dict[str, Any]:
    """Return the manifest's entry ``nodes_not_measured``: pseudonym, state and reason of each node
    that was not up; {} if the run has no list of nodes.  UserError for an invalid list."""
    file = run_dir / records.NODES_FILE
    if not file.exists():
        return {}
    partitions = records.read_record(file, run_dir, records.NodesRecord)["partitions"]
    nodes = {
        node["host"]: {
            "node": redactor.pseudonym(node["host"]),
            "state": redactor.redact_private_parts(node["state"]),
            "reason": redactor.redact_text(node["reason"]),
        }
        for partition in partitions.values()
        for node in partition["not_measured"]
    }
    return {"nodes_not_measured": sorted(nodes.values(), key=lambda node: node["node"])}
