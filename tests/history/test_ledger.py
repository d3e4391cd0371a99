"""The nights of a site from its published reports: which count, and what each series measured."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import (
    RECORDED_BUNDLES,
    redigest_bundle,
    redigest_report,
    rewrite_table,
)
from support.json_files import edit
from support.nights import (
    CAMPAIGN,
    ENVIRON,
    NODE_PSEUDONYM,
    SITE,
    NightWriter,
    publish_revision,
    start_time,
)

from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.history.ledger import Ledger
from roundtrip.history.night_rows import NIGHTS, PROVENANCE, SERIES
from roundtrip.measure import analysis, manifest


def read(reports: Path) -> Ledger:
    return ledger.read_ledger(reports, CAMPAIGN, SITE)


def dates(site_ledger: Ledger) -> list[str]:
    return [night[:10] for night in site_ledger.nights["night"].unique().sort()]


def test_a_night_has_the_median_of_the_medians_of_its_launches(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=12, launches=7)
    (revision,) = writer.write(1)
    site_ledger = read(tmp_path)
    assert site_ledger.warnings == ()
    assert dict(site_ledger.nights.schema) == NIGHTS
    assert dict(site_ledger.provenance.schema) == PROVENANCE
    medians = pl.read_parquet(revision / "bundle" / "medians.parquet")
    assert site_ledger.nights.height == 12
    for row in site_ledger.nights.iter_rows(named=True):
        values = medians.filter(pl.col(name) == row[name] for name in SERIES)["median"].sort()
        assert (row["median"], row["low"], row["high"]) == (values[3], values[0], values[6])
        assert (row["launches"], row["disturbed"], row["left_out"]) == (7, 0, "")
        assert (row["nodes"], row["lower_is_better"], row["foreign"]) == (
            NODE_PSEUDONYM,
            True,
            False,
        )
    digest = manifest.verify(revision / "bundle").digest
    assert site_ledger.nights["digest"].unique().to_list() == [digest]


def test_two_runs_of_a_day_are_two_nights(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=2)
    writer.write(2)
    second = tmp_path / CAMPAIGN / SITE / "2026-01-01.2"
    facts = {"started": "2026-01-01T09:00:00Z", "campaign": CAMPAIGN, "site": SITE}
    bundle_facts = {**facts, "finished": None, "git": {"commit": None, "dirty": None}, "tools": {}}
    publish_revision(second, lambda folder: writer.bundle(folder, 7, bundle_facts))
    nights = read(tmp_path).nights["night"].unique().sort().to_list()
    assert nights == ["2026-01-01T01:00:00Z", "2026-01-01T09:00:00Z", "2026-01-02T01:00:00Z"]


def test_a_correction_counts_and_what_it_corrects_does_not(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=2)
    (first, _) = writer.write(2)
    wrong_rows = read(tmp_path).nights.filter(pl.col("night") == start_time(0))
    facts = json.loads((first / "bundle" / "manifest.json").read_text())
    bundle_facts = {name: value for name, value in facts.items() if name != "files"}
    publish_revision(
        first.parent, lambda folder: writer.bundle(folder, 5, bundle_facts), supersedes="r1"
    )
    site_ledger = read(tmp_path)
    right_rows = site_ledger.nights.filter(pl.col("night") == start_time(0))
    assert right_rows.height == 2 and not set(right_rows["median"]) & set(wrong_rows["median"])
    assert dates(site_ledger) == ["2026-01-01", "2026-01-02"]
    assert site_ledger.warnings == ()


def test_of_one_run_the_newest_revision_counts(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=1)
    (first,) = writer.write(1)
    second = writer.night(0, tools={"roundtrip": "0.2.0"})
    assert second.name == "r2" and first.name == "r1"
    assert read(tmp_path).nights["digest"].to_list() == [manifest.verify(second / "bundle").digest]


def test_disturbed_launches_are_left_out_of_their_night(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=1, launches=4)
    (revision,) = writer.write(1)
    change(revision, "cases", disturbed=pl.Series([True, False, False, False]))
    (row,) = read(tmp_path).nights.rows(named=True)
    values = pl.read_parquet(revision / "bundle" / "medians.parquet")["median"].to_list()
    assert row["median"] == sorted(values[1:])[1]
    assert (row["launches"], row["disturbed"], row["left_out"]) == (3, 1, "")


def test_a_night_of_disturbed_launches_keeps_its_median_and_is_left_out(tmp_path: Path) -> None:
    NightWriter(tmp_path, series=1, disturbed=lambda number: number == 1).write(3)
    rows = read(tmp_path).nights.sort("night")
    assert rows["left_out"].to_list() == ["", "disturbed", ""]
    assert rows["launches"].to_list() == [3, 3, 3]
    assert rows["disturbed"].to_list() == [0, 3, 0]


def test_each_set_of_nodes_has_a_row_and_counted_hosts_are_of_no_known_node(tmp_path: Path) -> None:
    other = "node-ffffffff"
    sets = (NODE_PSEUDONYM, f"{NODE_PSEUDONYM}+{other}", "node1+node2")
    NightWriter(tmp_path, series=1, nodes=lambda number: sets[number]).write(3)
    assert read(tmp_path).nights.sort("night")["nodes"].to_list() == [*sets[:2], ""]


def test_provenance_says_what_may_explain_a_change(tmp_path: Path) -> None:
    host = {
        "cpu": {
            **{"governors": ["performance"], "turbo": False, "microcode": "0x2b"},
            "mitigations": {"mds": "Mitigated"},
        },
        "system": {"kernel": "6.1.0-40", "firmware": "2.4.1"},
        "packages": {"libucx0": "1.13.1-1"},
    }
    NightWriter(tmp_path, series=1, host=lambda _: host).write(1)
    rows = read(tmp_path).provenance.select("subject", "name", "value").rows()
    facts = {(subject, name): value for subject, name, value in rows}
    expected = {
        ("", "kernel"): "6.1.0-40",
        ("", "frequency governor"): "performance",
        ("", "turbo"): "no",
        ("", "microcode"): "0x2b",
        ("", "firmware"): "2.4.1",
        ("", "mitigation mds"): "Mitigated",
        ("", "package libucx0"): "1.13.1-1",
        ("", "checkout"): "0" * 12,
        (ENVIRON, "MPI library"): "Open MPI v4.1.4",
        (ENVIRON, "compiler flags"): "-O3",
        (ENVIRON, "binding"): "0: 0; 1: 1",
    }
    assert expected.items() <= facts.items()


def change(revision: Path, table: str, **columns: Any) -> Path:
    """The revision with other columns in a table, as if it had been published so."""
    rewrite_table(revision / "bundle", lambda frame: frame.with_columns(**columns), table)
    return redigest_report(revision)


def cut(revision: Path) -> None:
    file = revision / "bundle" / "medians.parquet"
    file.write_bytes(file.read_bytes()[:-9])


def renamed(revision: Path) -> None:
    target = revision.parents[1] / "2026-01-09" / "r1"
    target.parent.mkdir()
    revision.rename(target)


def twice(revision: Path) -> None:
    rewrite_table(revision / "bundle", lambda frame: pl.concat([frame, frame]), "medians")
    redigest_report(revision)


def edit_manifest(revision: Path, pattern: str, text: str) -> Path:
    listing = revision / "bundle" / "manifest.json"
    listing.write_text(re.sub(pattern, text, listing.read_text()))
    return redigest_bundle(revision)


def on_no_day(revision: Path) -> None:
    edit_manifest(revision, r'"started":"[^"]+"', '"started":"2026-02-30T01:00:00Z"')
    revision.parent.rename(revision.parents[1] / "2026-02-30")


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (cut, "medians.parquet is not the file that the manifest lists"),
        (lambda r: (cut(r), redigest_bundle(r)), "medians.parquet: not a parquet file"),
        (lambda r: (r / "report.json").write_text("{"), "not a published report"),
        (lambda r: (r / "report.json").write_text("{}"), "not the one that report.json names"),
        (lambda r: (r / "bundle" / "manifest.json").unlink(), "manifest.json: missing"),
        (lambda r: (r / "bundle" / "more").touch(), "more is not in the manifest"),
        (lambda r: change(r, "medians", median=-1.0), "median is not from 0"),
        (lambda r: change(r, "medians", median=float("nan")), "median is not from 0"),
        (lambda r: change(r, "medians", variant=pl.lit("a\x1b[31m")), "variant is not a text"),
        (lambda r: change(r, "medians", launch=pl.lit("x")), "of no launch that passed"),
        (lambda r: change(r, "medians", more=1), "unexpected columns: more"),
        (lambda r: change(r, "cases", launch=pl.lit("x")), "launches that no collector wrote"),
        (lambda r: change(r, "cases", status=pl.lit("failed")), "launches that no collector"),
        (twice, "a series has two rows for one launch"),
        (renamed, "its bundle is of 2026-01-02"),
        (lambda r: edit_manifest(r, '"synthetic"', '"other"'), "its bundle is of campaign 'other'"),
        (on_no_day, "started: right is a time as 2026-11-21T07:00:00Z"),
        (
            lambda r: edit(r / "report.json", supersedes="r1"),
            "supersedes 'r1', which is no earlier",
        ),
        (
            lambda r: edit(r / "report.json", supersedes="r9"),
            "supersedes 'r9', which is no earlier",
        ),
    ],
)
def test_a_damaged_or_forged_revision_is_left_out_with_a_warning(
    tmp_path: Path, damage: Callable[[Path], Any], complaint: str
) -> None:
    (_, second, _) = NightWriter(tmp_path, series=3).write(3)
    damage(second)
    site_ledger = read(tmp_path)
    assert dates(site_ledger) == ["2026-01-01", "2026-01-03"]
    (warning,) = site_ledger.warnings
    assert complaint in warning and "\n" not in warning
    assert warning.startswith(f"{tmp_path}/") and "/r1: " in warning
    assert read(tmp_path).warnings == site_ledger.warnings  # with a cache too


def test_warnings_are_in_the_order_of_nights(tmp_path: Path) -> None:
    for revision in NightWriter(tmp_path, series=1).write(9):
        twice(revision)
    warnings = read(tmp_path).warnings
    assert len(warnings) == 9 and list(warnings) == sorted(warnings)


def test_a_decoder_that_dies_is_a_warning_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, second, _) = NightWriter(tmp_path, series=1).write(3)

    def require(reader: Any, tables: Any) -> None:
        if damaged_files := [file for file in tables if second in file.parents]:
            raise UserError("its decoder died of signal 6", damaged_files[0])

    monkeypatch.setattr(ledger.reader.ReaderProcess, "require_decodable", require)
    site_ledger = read(tmp_path)
    assert dates(site_ledger) == ["2026-01-01", "2026-01-03"]
    fault = "bundle/cases.parquet: its decoder died of signal 6"
    assert site_ledger.warnings == (f"{second}: {fault}",)


def test_one_night_more_is_read_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = NightWriter(tmp_path, series=2)
    writer.write(3)
    old_ledger = read(tmp_path)
    writer.night(3)
    paths: list[Path] = []
    read_night = ledger.published.read_night
    monkeypatch.setattr(
        ledger.published,
        "read_night",
        lambda revision, *a: (paths.append(revision.path), read_night(revision, *a))[1],
    )
    new_ledger = read(tmp_path)
    assert [path.parent.name for path in paths] == ["2026-01-04"]
    assert new_ledger.nights.filter(pl.col("night") < start_time(3)).equals(old_ledger.nights)
    cache_file = tmp_path / CAMPAIGN / SITE / ledger.CACHE_FILE
    cache_file.unlink()
    assert read(tmp_path).nights.equals(new_ledger.nights)
    assert read(tmp_path).provenance.equals(new_ledger.provenance)


@pytest.mark.parametrize("content", [b"", b"PK", None])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    NightWriter(tmp_path, series=2).write(2)
    old_ledger = read(tmp_path)
    file = tmp_path / CAMPAIGN / SITE / ledger.CACHE_FILE
    cache_bytes = bytearray(file.read_bytes())
    cache_bytes[200] ^= 1
    file.write_bytes(cache_bytes if content is None else content)
    assert read(tmp_path).nights.equals(old_ledger.nights)
    assert ledger.load_cache(file.parent).nights.height == old_ledger.nights.height


def test_a_cache_of_other_code_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    NightWriter(tmp_path, series=2).write(2)
    old_ledger = read(tmp_path)
    folder = tmp_path / CAMPAIGN / SITE
    assert ledger.load_cache(folder).nights.height == 4
    monkeypatch.setattr(ledger, "code_digest", lambda: "other code")
    assert ledger.load_cache(folder).nights.is_empty()
    assert read(tmp_path).nights.equals(old_ledger.nights)
    assert ledger.load_cache(folder).nights.height == 4


def test_intervals_of_all_nights_have_the_level_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    NightWriter(tmp_path, series=2, launches=7).write(2)
    assert read(tmp_path).nights["low"].null_count() == 0
    default = analysis.default_settings()
    statistics = default.statistics.model_copy(update={"confidence_level": 0.99})
    strict_analysis = replace(default, statistics=statistics)
    monkeypatch.setattr(analysis, "load_site_settings", lambda site: strict_analysis)
    assert read(tmp_path).nights["low"].null_count() == 4, "of 7 launches there is none at 99 %"


def test_a_bundle_that_changes_under_the_cache_is_read_again(tmp_path: Path) -> None:
    (first, _) = NightWriter(tmp_path, series=2).write(2)
    assert read(tmp_path).warnings == ()
    cut(first)
    site_ledger = read(tmp_path)
    assert dates(site_ledger) == ["2026-01-02"] and "is not the file" in site_ledger.warnings[0]


def test_a_site_without_reports_has_no_nights(tmp_path: Path) -> None:
    assert read(tmp_path).nights.is_empty() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["ring", "wan"])
def test_recorded_bundles_are_nights_too(tmp_path: Path, name: str) -> None:
    data = manifest.verify(RECORDED_BUNDLES / name).data
    night = tmp_path / data["campaign"] / data["site"] / data["started"][:10]

    def copied(folder: Path) -> str:
        shutil.copytree(RECORDED_BUNDLES / name, folder)
        return manifest.verify(folder).digest

    publish_revision(night, copied)
    site_ledger = ledger.read_ledger(tmp_path, data["campaign"], data["site"])
    assert site_ledger.warnings == () and site_ledger.nights.height
    assert site_ledger.nights["nodes"].unique().to_list() == [""]
