"""What else is history: imports and annotations, and what of it goes into a bundle."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from support.nights import CAMPAIGN, SITE, Nights
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.history import annotations as annotation_file
from roundtrip.history import ledger
from roundtrip.history.annotations import Annotation
from roundtrip.measure import manifest
from roundtrip.report import data, renderers
from roundtrip.report.build import build
from roundtrip.report.sections import history

RECORDED = Path(__file__).parents[1] / "data" / "reframe" / "4.10.4-default"


def load(folder: Path, text: str) -> tuple[Annotation, ...]:
    file = folder / annotation_file.FILE_NAME
    file.write_text(text)
    return annotation_file.load(file)


def test_imported_nights_are_nights_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(tmp_path))
    writer = Nights(tmp_path, series=2)
    writer.write(1)
    own_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    arguments = ["import", str(RECORDED), "--site", SITE, "--campaign", CAMPAIGN]
    arguments += ["--lower-is-better", "*"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    full_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    foreign_rows = full_ledger.nights.filter("foreign")
    assert foreign_rows.height and full_ledger.warnings == ()
    assert full_ledger.nights.filter(~pl.col("foreign")).equals(own_ledger.nights)
    (folder,) = (tmp_path / CAMPAIGN / SITE / "imported").iterdir()
    (folder / "values.parquet").write_bytes(b"")
    final_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    assert final_ledger.nights.equals(own_ledger.nights)
    assert "values.parquet" in final_ledger.warnings[0]


def test_an_annotation_leaves_its_nights_out(tmp_path: Path) -> None:
    Nights(tmp_path, series=1).write(3)
    text = "- {from: 2026-01-02, text: a fan was broken, kind: incident, leave_out: true}"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE, load(tmp_path, text))
    assert site_ledger.nights["left_out"].to_list() == ["", "incident: a fan was broken", ""]
    assert ledger.read_ledger(tmp_path, CAMPAIGN, SITE).nights["left_out"].to_list() == ["", "", ""]


def test_annotations_are_those_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("campaigns", "checks", "site-configs/here"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert annotation_file.load_site("here") == ()
    file = tmp_path / "site-configs" / "here" / annotation_file.FILE_NAME
    file.write_text("- from: 2026-01-02\n  text: new switch\n")
    assert [annotation.text for annotation in annotation_file.load_site("here")] == ["new switch"]
    file.write_text("nonsense")
    with pytest.raises(UserError, match="right is a list of annotations"):
        annotation_file.load_site("here")


def test_at_most_the_newest_nights_go_into_a_bundle(tmp_path: Path) -> None:
    bundle = Nights(tmp_path, series=1).write(5)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    old_ledger = site_ledger.nights_before("2026-01-05T01:00:00Z", 2)
    assert old_ledger.nights["night"].str.slice(0, 10).to_list() == ["2026-01-03", "2026-01-04"]
    assert set(old_ledger.provenance["night"]) == set(old_ledger.nights["night"])
    copy = Path(shutil.copytree(bundle, tmp_path / "copy"))
    measured_manifest = manifest.verify(copy)
    attached_manifest = ledger.attach(copy, measured_manifest, site_ledger)
    assert attached_manifest.measurement == measured_manifest.digest != attached_manifest.digest
    attached_ledger = ledger.read_attached(copy, manifest.verify(copy))
    assert attached_ledger.nights.equals(site_ledger.nights.head(4))


def test_what_is_said_of_nights_goes_into_a_bundle_and_its_report(tmp_path: Path) -> None:
    bundle = Nights(tmp_path, series=1).write(3)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    text = "- {from: 2026-01-03, text: tonight}\n- {from: 2026-01-02, text: a <b> switch}"
    for site_annotations in ((), load(tmp_path, text)):
        copy = Path(shutil.copytree(bundle, tmp_path / f"copy{len(site_annotations)}"))
        ledger.attach(copy, manifest.verify(copy), site_ledger, site_annotations)
        notes = ledger.read_attached(copy, manifest.verify(copy)).notes.rows()
        expected = [("2026-01-02T01:00:00Z", "a <b> switch"), ("2026-01-03T01:00:00Z", "tonight")]
        assert notes == expected[: len(site_annotations)]
    page = renderers.html(build(data.read(copy)))
    assert "Annotations of these nights" in page and "2026-01-02: a &lt;b&gt; switch" in page
    table = copy / "history" / "notes.parquet"
    pl.DataFrame({"night": ["x"], "text": ["y"]}).write_parquet(table)
    facts = manifest.verify(bundle).data
    forged_manifest = manifest.write(copy, {k: v for k, v in facts.items() if k != "files"})
    with pytest.raises(UserError, match="night 'x' is not a time"):
        ledger.read_attached(copy, forged_manifest)


def test_a_night_that_is_left_out_before_it_is_reported_is_not_judged(tmp_path: Path) -> None:
    bundle = Nights(tmp_path, series=2).write(3)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    text = "- {from: 2026-01-03, text: cooling, kind: maintenance, leave_out: true}"
    ledger.attach(bundle, manifest.verify(bundle), site_ledger, load(tmp_path, text))
    lines = history.judge_nights(data.read(bundle)).lines
    points = [point for line in lines for point in line.series.points]
    assert {point.night[:10]: point.left_out for point in points} == {
        "2026-01-01": "",
        "2026-01-02": "",
        "2026-01-03": "maintenance: cooling",
    }
