"""Accepted levels of tests that an annotation renames later."""

import shutil
from glob import escape
from pathlib import Path

import polars as pl
import pytest
from support.nights import CAMPAIGN, SITE, NightWriter, start_time

from roundtrip.content import nights
from roundtrip.content.nights import JudgedSeries
from roundtrip.history import annotations as annotation_file
from roundtrip.history import ledger
from roundtrip.history.annotations import Annotation
from roundtrip.measure import analysis, manifest
from roundtrip.report.publish import attach_past_nights

SETTINGS = analysis.default_settings().history


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    NightWriter(folder, series=2).write(3)
    return folder


def load(folder: Path, *texts: str) -> tuple[Annotation, ...]:
    file = folder / annotation_file.FILE_NAME
    file.write_text("".join(texts))
    return annotation_file.load(file)


def renaming(night: int, old: str, new: str) -> str:
    start = start_time(night)[:10]
    return f'- {{from: {start}, text: x, series: "{old}/*", renamed_to: "{new}/*"}}\n'


def judge(reports: Path, annotations: tuple[Annotation, ...] = ()) -> tuple[JudgedSeries, ...]:
    site_ledger = ledger.read_ledger(reports, CAMPAIGN, SITE, annotations)
    frames = site_ledger.nights, site_ledger.provenance
    return nights.judge_all_series(*frames, SETTINGS, annotations).judged_series


def acceptance(reports: Path, night: int) -> str:
    """What accepts the first series up to a night, by its name without annotations."""
    title = escape(judge(reports)[0].full_title)
    return f'- {{from: {start_time(night)}, text: agreed, kind: accepted, series: "{title}"}}\n'


@pytest.mark.parametrize(
    ("accepted", "renamed", "until"),
    [(1, [3], 1), (1, [2, 3], 1), (2, [3], 2), (2, [2], None)],
    ids=["later", "twice", "all nights", "another test has the old name"],
)
def test_an_acceptance_by_an_old_name_holds_on_for_the_renamed_series(
    reports: Path, tmp_path: Path, accepted: int, renamed: list[int], until: int | None
) -> None:
    names = ["NetPIPE", "Beta", "Gamma"]
    texts = [renaming(night, *names[at : at + 2]) for at, night in enumerate(renamed)]
    annotations = load(tmp_path, *texts[::-1], acceptance(reports, accepted))
    renamed_lines = [
        line
        for line in judge(reports, annotations)
        if str(line.data.identity["case_id"]).startswith(names[len(renamed)])
    ]
    moments = [line.acceptance and line.acceptance.last for line in renamed_lines]
    assert moments == [until and start_time(until), None]


def test_an_acceptance_by_a_name_that_is_gone_ends_before_the_renaming(
    reports: Path, tmp_path: Path
) -> None:
    annotations = load(tmp_path, renaming(2, "NetPIPE", "Beta"), acceptance(reports, 2))
    site_ledger = ledger.read_ledger(reports, CAMPAIGN, SITE, annotations)
    rows = site_ledger.nights.filter(~pl.col("case_id").str.starts_with("NetPIPE"))
    carried = nights.with_carried_acceptances(rows, site_ledger.provenance, annotations)
    assert [each.last for each in carried[len(annotations) :]] == [start_time(1)]


def test_a_bundle_has_the_names_of_its_night_and_what_was_accepted(
    reports: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle"
    (revision,) = (reports / CAMPAIGN / SITE).glob(f"{start_time(2)[:10]}/r*")
    shutil.copytree(revision / "bundle", bundle)
    texts = renaming(2, "NetPIPE", "Beta"), renaming(3, "Beta", "Gamma")
    annotations = load(tmp_path, *texts, acceptance(reports, 1))
    attached = attach_past_nights(bundle, manifest.verify(bundle), reports, annotations)
    history = ledger.read_attached_history(bundle, attached)
    assert history.nights["case_id"].str.head(5).unique().to_list() == ["Beta/"]
    assert history.accepted["until"].to_list() == [start_time(1)] * 2
    assert "Beta" in history.accepted["series"][1]
    assert history.notes["text"].to_list() == ["accepted: agreed", "x"]
