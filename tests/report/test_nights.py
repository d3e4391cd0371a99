"""A night is published once, whatever comes before it; its report holds the nights before."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import rewrite_table, set_column
from support.synthetic import SyntheticTree

from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.measure import bundle, manifest
from roundtrip.report import publish
from roundtrip.report.build import Correction

ENVIRON = "openmpi41-boost181"
TIMES = ["2026-11-20T07:00:00Z", "2026-11-21T07:00:00Z"]


def tree_of(folder: Path, start: str) -> Path:
    settings: dict[str, Any] = {"sizes": [1, 64, 1024], "samples": 3, "launches": 2}
    settings |= {"environs": (ENVIRON,), "seed": sum(map(ord, start))}
    return SyntheticTree(folder / start.replace(":", ""), started=start, **settings).write().path


def bundle_of(folder: Path, start: str) -> Path:
    return bundle.build_bundle(tree_of(folder, start))


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a published report that holds the night before it."""
    folder = tmp_path_factory.mktemp("later")
    for time in TIMES:
        revision = publish.publish(bundle_of(folder, time), folder / "reports")
    return revision / "bundle"


def started(revision: Path) -> list[str]:
    file = revision / "bundle" / "history" / "nights.parquet"
    return pl.read_parquet(file)["night"].unique().sort().to_list() if file.exists() else []


@pytest.mark.nightly
def test_a_report_holds_the_nights_that_were_published_before_it(tmp_path: Path) -> None:
    times = [f"2026-11-{day}T07:00:00Z" for day in (20, 22, 21, 23)]
    first, third, second, last = (
        publish.publish(bundle_of(tmp_path, time), tmp_path / "out") for time in times
    )
    assert (started(first), started(second)) == ([], times[:1])
    assert started(third) == times[:1]  # the 21st was published later
    assert started(last) == sorted(times[:3])


def test_a_report_is_rebuilt_from_the_nights_in_its_bundle(tmp_path: Path) -> None:
    first, second = (publish.publish(bundle_of(tmp_path, time), tmp_path / "out") for time in TIMES)
    for revision in (first, second):
        assert publish.verify_revision(revision) == []
    bundle_data = data.read_bundle(second / "bundle")
    digests = bundle_data.past_nights.nights["digest"].unique().to_list()
    assert digests == [manifest.verify(first / "bundle").digest]
    subjects = set(bundle_data.past_nights.provenance["subject"])
    assert {subject for subject in subjects if not subject.startswith("node-")} == {"", ENVIRON}
    assert not (first / "bundle" / "history").exists()


@pytest.mark.nightly
def test_the_same_run_is_published_once_whatever_came_between(tmp_path: Path) -> None:
    first, second = (bundle_of(tmp_path, time) for time in TIMES)
    revision = publish.publish(second, tmp_path)
    publish.publish(first, tmp_path)
    assert publish.publish(second, tmp_path) == revision
    assert publish.publish(revision / "bundle", tmp_path) == revision
    correction = publish.publish(second, tmp_path, Correction("r1", "with the night before"))
    assert (correction.name, started(correction)) == ("r2", TIMES[:1])
    facts = json.loads((correction / "report.json").read_text())
    assert facts["measurement"] == manifest.verify(second).measurement_digest != facts["digest"]
    assert publish.publish(second, tmp_path) == correction
    assert publish.publish(correction / "bundle", tmp_path) == correction
    third = publish.publish(bundle_of(tmp_path, "2026-11-22T07:00:00Z"), tmp_path)
    assert started(third) == TIMES


@pytest.mark.nightly
def test_a_second_run_of_a_day_has_its_own_place(tmp_path: Path) -> None:
    runs = [bundle_of(tmp_path, f"2026-11-21T{hour}:00:00Z") for hour in ("07", "13", "19")]
    revisions = [publish.publish(run, tmp_path) for run in runs]
    site = tmp_path / "synthetic" / "local"
    names = ["2026-11-21", "2026-11-21.2", "2026-11-21.3"]
    assert revisions == [site / name / "r1" for name in names]
    assert [publish.publish(run, tmp_path) for run in runs] == revisions
    assert started(revisions[2]) == ["2026-11-21T07:00:00Z", "2026-11-21T13:00:00Z"]
    correction = publish.publish(runs[1], tmp_path, Correction("r1", "wrong axis"))
    assert correction == site / names[1] / "r2"
    with pytest.raises(UserError, match="no revision r2 to supersede"):
        publish.publish(runs[2], tmp_path, Correction("r2", "wrong axis"))


def test_a_tree_where_a_second_run_is_r2_stays_as_it_is(tmp_path: Path) -> None:
    runs = [bundle_of(tmp_path, f"2026-11-21T{hour}:00:00Z") for hour in ("07", "13")]
    first, second = (publish.publish(run, tmp_path) for run in runs)
    old_revision = first.with_name("r2")
    second.rename(old_revision)
    second.parent.rmdir()
    assert [publish.publish(run, tmp_path) for run in runs] == [first, old_revision]
    assert publish.verify_revision(old_revision) == []
    site_ledger = ledger.read_ledger(tmp_path, "synthetic", "local")
    assert site_ledger.nights["night"].n_unique() == 2 and site_ledger.warnings == ()


@pytest.mark.nightly
def test_processes_collect_two_runs_of_a_day_at_once_and_publish_each_once(tmp_path: Path) -> None:
    runs = [tree_of(tmp_path, f"2026-11-21T{hour}:00:00Z") for hour in ("07", "13")]
    code = "from roundtrip.cli import main; main()"
    command = [sys.executable, "-c", code, "report", "--output", str(tmp_path / "o")]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([*command, str(run)], env=environment, **pipes) for run in (*runs, *runs)
    ]
    outputs = [process.communicate(timeout=600) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    pages = {out.splitlines()[-1] for out, _ in outputs}
    site = tmp_path / "o" / "synthetic" / "local"
    names = ("2026-11-21", "2026-11-21.2")
    assert pages == {f"report: {site / name / 'r1' / 'report.html'}" for name in names}
    assert len(list(site.glob("2026-11-21*/*"))) == 2


def test_a_left_out_revision_is_reported(tmp_path: Path) -> None:
    first = publish.publish(bundle_of(tmp_path, TIMES[0]), tmp_path)
    (first / "bundle" / "cases.parquet").write_bytes(b"")
    messages: list[str] = []
    later_bundle = bundle_of(tmp_path, TIMES[1])
    second = publish.publish(later_bundle, tmp_path, print_line=messages.append)
    assert started(second) == []
    why = "bundle/manifest.json: cases.parquet is not the file that the manifest lists"
    assert messages == [f"{first}: {why}"]


@pytest.mark.parametrize(
    ("table", "change", "complaint"),
    [
        ("nights", set_column("night", "2026-11-21T07:00:00Z"), "did not begin before this one"),
        ("nights", set_column("night", "yesterday"), "night 'yesterday' is not a time as"),
        ("nights", set_column("digest", "x"), "digest 'x' is not a sha256"),
        ("nights", set_column("median", float("nan")), "median 'nan' is not from 0"),
        ("nights", set_column("left_out", None), "left_out is empty where it cannot be"),
        ("nights", set_column("lower_is_better", None), "lower_is_better 'None' is not yes or no"),
        ("nights", set_column("variant", "\x1b[2J"), "is not a text of 1 to 2000 printable"),
        ("nights", lambda frame: pl.concat([frame, frame]), "a series has two rows for one night"),
        ("nights", lambda frame: frame.drop("foreign"), "missing columns: foreign"),
        ("provenance", set_column("value", "x" * 5000), "is not a text of up to 2000"),
        ("provenance", set_column("name", None), "name is empty where it cannot be"),
        ("provenance", lambda frame: frame.with_columns(more=1), "unexpected columns: more"),
    ],
)
def test_a_forged_history_is_one_line(
    later: Path,
    tmp_path: Path,
    table: str,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    complaint: str,
) -> None:
    forgery = shutil.copytree(later, tmp_path / "bundle")
    rewrite_table(forgery, change, f"history/{table}")
    with pytest.raises(UserError, match=complaint) as error:
        data.read_bundle(forgery)
    assert "\n" not in str(error.value) and f"history/{table}.parquet" in str(error.value.file)
