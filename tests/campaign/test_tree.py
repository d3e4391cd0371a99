"""Which run a later invocation goes on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roundtrip.campaign import scheduler, tree
from roundtrip.campaign.matrix import Matrix
from roundtrip.campaign.model import Campaign
from roundtrip.campaign.tree import Revision
from roundtrip.collect import analysis
from roundtrip.errors import UserError


def begin(runs: Path, report: bool = False, night: str | None = None) -> tree.RunTree:
    file = runs.parent / "night.toml"
    file.write_text("title = 't'\n")
    campaign = Campaign("night", file, "t", 1, 0, 60, ())
    return tree.create_tree(
        runs,
        campaign,
        "site",
        Matrix((), ()),
        Revision("c", False),
        analysis.default(),
        report,
        night,
    )


def test_a_night_finds_the_run_it_began_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not that of an earlier job with the same number."""
    runs = tmp_path / "runs"
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    run = begin(runs, night="one")
    run.finish()
    night_run = tree.find_night(runs, "night", "site", "one")
    assert night_run is not None
    assert night_run.path == run.path
    assert tree.find_night(runs, "night", "site", "1") is None
    assert tree.find_night(runs, "night", "site", "two") is None
    assert tree.find_night(runs, "other", "site", "one") is None


def test_the_path_of_a_run_is_absolute_and_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(tmp_path / "runs")
    (tmp_path / "link").symlink_to("runs")
    monkeypatch.chdir(tmp_path)
    for runs in (Path("runs"), Path("link"), tmp_path / "link"):
        resumed_run = tree.newest_unfinished(runs, "night", "site")
        assert resumed_run.path == tree.RunTree(runs / "night" / "site" / run.path.name).path
        assert resumed_run.path == run.path.resolve()


def test_a_finished_run_is_resumed_for_the_report_it_lacks(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = begin(runs, report=True)
    run.finish()
    assert tree.newest_unfinished(runs, "night", "site").path == run.path
    run.record_report(tmp_path / "report.html")
    with pytest.raises(UserError, match="no unfinished run"):
        tree.newest_unfinished(runs, "night", "site")


def test_a_state_that_the_collector_takes_and_no_run_wrote_fails(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    run = begin(runs)
    state = {key: value for key, value in run.state.items() if key not in ("finished", "report")}
    state["expected"] = [{"case": "NetPIPE@local:smp+gcc", "launches": 3}]
    (run.path / "state.json").write_text(json.dumps(state))
    assert tree.newest_unfinished(runs, "night", "site").path == run.path
    with pytest.raises(UserError, match=r"has changed since .* \(case NetPIPE@local:smp\+gcc\)"):
        tree.require_same_matrix(run, Matrix((), ()))


def test_jobs_are_marked_and_never_requeued_where_there_is_slurm() -> None:
    (comment, _) = scheduler.job_options("slurm", "nacht prüfung/b/c")
    assert comment == "--job-option=comment=roundtrip:nacht%20pr%C3%BCfung/b/c"
    assert scheduler.job_options("local", "a/b/c") == []
    assert scheduler.job_options("squeue", "a/b/c") == [
        "--job-option=comment=roundtrip:a/b/c",
        "--job-option=--no-requeue",
    ]


def test_a_run_keeps_the_thresholds_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = analysis.default_text().replace("load_above_cores = 1.0", "load_above_cores = 7.5")
    folder = tmp_path / "checkout"
    for part in ("campaigns", "checks", "site-configs/noisy"):
        (folder / part).mkdir(parents=True)
    (folder / "site-configs/noisy" / analysis.FILE_NAME).write_text(text)
    monkeypatch.chdir(folder)
    assert analysis.for_site("quiet") == analysis.default()
    file = tmp_path / "night.toml"
    file.write_text("")
    campaign = Campaign("night", file, "t", 1, 0, 60, ())
    thresholds = analysis.for_site("noisy")
    revision = Revision("c", False)
    run = tree.create_tree(tmp_path, campaign, "noisy", Matrix((), ()), revision, thresholds)
    (folder / "site-configs/noisy" / analysis.FILE_NAME).unlink()
    assert analysis.for_run(run.path).disturbance.load_above_cores == 7.5
