"""What people say of nights, leave out, rename and accept, and what of it goes into a bundle."""

import re
import shutil
from glob import escape
from pathlib import Path

import polars as pl
import pytest
from support.nights import CAMPAIGN, SITE, NightWriter, make_checkout, start_time
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.content import data, nights
from roundtrip.content.nights import JudgedSeries
from roundtrip.errors import UserError
from roundtrip.history import annotations as annotation_file
from roundtrip.history import ledger, night_rows
from roundtrip.history.annotations import Annotation
from roundtrip.measure import analysis, manifest
from roundtrip.report import renderers
from roundtrip.report.build import build_report
from roundtrip.report.publish import attach_past_nights
from roundtrip.report.sections import history

RECORDED = Path(__file__).parents[1] / "data" / "reframe" / "4.10.4-default"
NIGHTS = ["2026-11-02T01:00:00Z", "2026-11-03T01:00:00Z", "2026-11-03T22:00:00Z"]
NIGHTS += ["2026-11-05T01:00:00Z"]
MEDIAN = {"median": 2.0, "low": None, "high": 2.0}


def load(folder: Path, *texts: str) -> tuple[Annotation, ...]:
    file = folder / annotation_file.FILE_NAME
    file.write_text("".join(texts))
    return annotation_file.load(file)


def renaming(night: str, old: str, new: str) -> str:
    return f'- {{from: {night[:10]}, text: x, series: "{old}/*", renamed_to: "{new}/*"}}\n'


def left_out(
    annotations: tuple[Annotation, ...], case: str = "NetPIPE/mode=stream@x:y+z"
) -> list[str]:
    rows = {"night": NIGHTS, "case_id": [case] * 4, "left_out": ["", "", "disturbed", ""]}
    nights = annotation_file.set_left_out(pl.DataFrame(rows), annotations)
    assert nights.columns == ["night", "case_id", "left_out"]
    return nights["left_out"].to_list()


def test_all_of_it(tmp_path: Path) -> None:
    text = """
- from: 2026-11-03
  text: a new kernel
  kind: change
- from: 2026-11-03T01:00:00Z
  to: 2026-11-05
  text: the cooling failed
  series: "NetPIPE/*@x:*"
  leave_out: true
"""
    annotations = load(tmp_path, text)
    assert annotation_file.notes_on_nights(NIGHTS, annotations) == [
        ("2026-11-03T01:00:00Z", "change: a new kernel"),
        ("2026-11-03T01:00:00Z", "the cooling failed"),
    ]
    reason = "the cooling failed"
    assert left_out(annotations) == ["", reason, "disturbed", reason]
    assert left_out(annotations, "DDTBench/@x:y+z") == ["", "", "disturbed", ""]


def test_without_an_end_it_is_about_its_day(tmp_path: Path) -> None:
    annotations = load(tmp_path, "- {from: 2026-11-03, text: x, leave_out: true}")
    assert left_out(annotations) == ["", "x", "disturbed", ""]


@pytest.mark.parametrize(
    ("text", "starts", "notes"),
    [
        ("- {from: 2026-11-04, text: x}", NIGHTS, [(NIGHTS[3], "x")]),
        ("- {from: 2026-11-04, text: x}", [], []),
        ("- {from: 2026-11-04, to: 2026-11-04T12:00:00Z, text: x}", NIGHTS, []),
        ("- {from: 2026-11-01, text: ended before all nights}", NIGHTS, []),
        ("- {from: 2026-10-01, to: 2026-11-02, text: y}", NIGHTS, [(NIGHTS[0], "y")]),
    ],
)
def test_on_a_day_without_a_night_it_stands_at_the_next(
    tmp_path: Path, text: str, starts: list[str], notes: list[tuple[str, str]]
) -> None:
    assert annotation_file.notes_on_nights(starts, load(tmp_path, text)) == notes


def test_the_annotations_of_the_guide_are_some(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "morning.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    change, incident, renaming = load(tmp_path, example)
    assert renaming.new_name("Stream/n=2@x:y+z") == "Triad/n=2@x:y+z"
    assert (change.kind, change.to, change.leave_out) == ("change", None, False)
    assert (incident.to, incident.leave_out) == ("2026-11-22", True)


def test_a_file_that_is_missing_or_empty_says_nothing(tmp_path: Path) -> None:
    assert annotation_file.load(tmp_path / "none.yaml") == ()
    assert load(tmp_path, "# nothing yet\n") == ()


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("- from: 2026-11-03\n  text: [", 2, "not YAML"),
        ("from: 2026-11-03", 1, "right is a list of annotations"),
        ("- text: x", 1, "'from' is missing"),
        ("- from: 2026-11-03", 1, "'text' is missing"),
        ("- from: yesterday\n  text: x", 1, "right is a date such as 2026-11-03"),
        ("- text: x\n  from: 2026-02-30", 2, "'2026-02-30' is no date: day is out of range"),
        ("- from: 2026-11-03\n  to: 2026-13-01", 2, "right is one such as 2026-11-03, or a time"),
        ("- from: 2026-11-03\n  text: !!int x", 2, "'x' is no whole number"),
        ("- from: 2026-11-03\n  text: x\n  until: 4", 3, "unknown key 'until'"),
        ("- from: 2026-11-03\n  to: 2026-11-02\n  text: x", 2, "'to' is before 'from'"),
        ("- from: 2026-11-03\n  text: x\n  leave_out: 1", 3, "boolean"),
        ("- from: 2026-11-03\n  text: x\n  kind: party", 3, "'change', 'maintenance'"),
        ('- from: 2026-11-03\n  text: "a\\nb"', 2, "annotations.0.text"),
        ("- from: 2026-11-03\n  text: x\n  text: y", 3, "'text' stands twice"),
        ("- &a [*a]", 1, "should be a table"),
        ("- !!python/object:os.system x", 1, "not YAML"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(UserError) as fault:
        load(tmp_path, text)
    assert Path(fault.value.file or "").name == annotation_file.FILE_NAME
    assert fault.value.line == line
    assert why in fault.value.message and "\n" not in fault.value.message


def test_imported_nights_are_nights_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(tmp_path))
    writer = NightWriter(tmp_path, series=2)
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


def test_a_night_that_is_left_out_by_an_old_name_stays_left_out(tmp_path: Path) -> None:
    NightWriter(tmp_path, series=1).write(3)
    (case,) = ledger.read_ledger(tmp_path, CAMPAIGN, SITE).nights["case_id"].unique()
    text = f"""
- {{from: 2026-01-02, text: a fan was broken, series: "{case}", leave_out: true}}
- {{from: 2026-02-01, text: a new name, series: "{case}", renamed_to: "New/@x:y+z"}}
- {{from: 2026-01-03, text: a disk was full, series: "New/*", leave_out: true}}
"""
    nights = ledger.read_ledger(tmp_path, CAMPAIGN, SITE, load(tmp_path, text)).nights
    assert nights["left_out"].to_list() == ["", "a fan was broken", "a disk was full"]
    assert set(nights["case_id"]) == {"New/@x:y+z"}


def test_annotations_are_those_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert annotation_file.load_site_annotations(SITE) == ()
    annotations = load(folder, "- from: 2026-01-02\n  text: new switch\n")
    assert annotation_file.load_site_annotations(SITE) == annotations != ()


def test_at_most_the_newest_nights_go_into_a_bundle(tmp_path: Path) -> None:
    bundle = NightWriter(tmp_path, series=1).write(5)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    old_ledger = site_ledger.nights_before("2026-01-05T01:00:00Z", 2)
    assert old_ledger.nights["night"].str.slice(0, 10).to_list() == ["2026-01-03", "2026-01-04"]
    assert set(old_ledger.provenance["night"]) == set(old_ledger.nights["night"])
    copy = Path(shutil.copytree(bundle, tmp_path / "copy"))
    measured_manifest = manifest.verify(copy)
    attached_manifest = ledger.attach_history(copy, measured_manifest, site_ledger)
    assert (
        attached_manifest.measurement_digest == measured_manifest.digest != attached_manifest.digest
    )
    attached_ledger = ledger.read_attached_history(copy, manifest.verify(copy))
    assert attached_ledger.nights.equals(site_ledger.nights.head(4))


def test_what_is_said_of_nights_goes_into_a_bundle_and_its_report(tmp_path: Path) -> None:
    bundle = NightWriter(tmp_path, series=1).write(3)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    text = "- {from: 2026-01-03, text: tonight}\n- {from: 2026-01-02, text: a <b> switch}"
    for site_annotations in ((), load(tmp_path, text)):
        copy = Path(shutil.copytree(bundle, tmp_path / f"copy{len(site_annotations)}"))
        ledger.attach_history(copy, manifest.verify(copy), site_ledger, site_annotations)
        notes = ledger.read_attached_history(copy, manifest.verify(copy)).notes.rows()
        expected = [("2026-01-02T01:00:00Z", "a <b> switch"), ("2026-01-03T01:00:00Z", "tonight")]
        assert notes == expected[: len(site_annotations)]
    page = renderers.render_html(build_report(data.read_bundle(copy)))
    assert "Annotations of these nights" in page and "2026-01-02: a &lt;b&gt; switch" in page
    table = copy / "history" / "notes.parquet"
    pl.DataFrame({"night": ["x"], "text": ["y"]}).write_parquet(table)
    facts = manifest.verify(bundle).data
    forged_manifest = manifest.write_unsigned(
        copy, {k: v for k, v in facts.items() if k != "files"}
    )
    with pytest.raises(UserError, match="night 'x' is not a time"):
        ledger.read_attached_history(copy, forged_manifest)


def test_a_night_that_is_left_out_before_it_is_reported_is_not_judged(tmp_path: Path) -> None:
    bundle = NightWriter(tmp_path, series=2).write(3)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    text = "- {from: 2026-01-03, text: cooling, kind: maintenance, leave_out: true}"
    ledger.attach_history(bundle, manifest.verify(bundle), site_ledger, load(tmp_path, text))
    lines = history.judge_bundle_nights(data.read_bundle(bundle)).judged_series
    points = [point for line in lines for point in line.data.points]
    assert {point.night[:10]: point.left_out for point in points} == {
        "2026-01-01": "",
        "2026-01-02": "",
        "2026-01-03": "maintenance: cooling",
    }


def test_a_renamed_test_is_one_series_in_its_new_unit_and_its_new_name_counts_if_a_night_has_both(
    tmp_path: Path,
) -> None:
    text = """
- from: 2026-11-03T22:00:00Z
  text: Stream is called Triad
  series: "Stream/*@*+gcc"
  renamed_to: "Triad/*@*+gnu"
"""
    old, new = "Stream/n=2@x:y+gcc", "Triad/n=2@x:y+gnu"
    names = {name: "" for name in night_rows.SERIES if name not in ("case_id", "case")}
    rows = [
        {**names, **MEDIAN, "night": night, "case_id": case, "case": case.split("/")[0]}
        | {"nodes": case, "unit": "s" if case == old else "ms"}
        for case, nights in ((old, NIGHTS), (new, NIGHTS[1:]), ("Stream/@x:y+clang", NIGHTS[:1]))
        for night in nights
    ]
    frame, _ = annotation_file.rename_cases(pl.DataFrame(rows), load(tmp_path, text))
    columns = ("case_id", "case", "night", "unit", "median")
    assert sorted(frame.select(columns).iter_rows()) == sorted(
        [
            ("Stream/@x:y+clang", "Stream", NIGHTS[0], "ms", 2),
            (new, "Triad", NIGHTS[0], "ms", 2000),
            *((new, "Triad", night, "ms", 2) for night in NIGHTS[1:]),
            *((old, "Stream", night, "s", 2) for night in NIGHTS[2:]),
        ]
    )


@pytest.mark.parametrize("order", [1, -1])
def test_a_test_may_be_renamed_twice(order: int, tmp_path: Path) -> None:
    renamings = [*map(renaming, NIGHTS[1::2], "AB", "BC")]
    names = dict.fromkeys(night_rows.SERIES, "")
    rows = [
        {**names, **MEDIAN, "night": night, "case_id": f"{name}/@x:y+z", "nodes": ""}
        for night, name in zip(NIGHTS, "ABBC", strict=True)
    ]
    annotations = load(tmp_path, *renamings[::order])
    frame, _ = annotation_file.rename_cases(pl.DataFrame(rows), annotations)
    assert frame["case_id"].to_list() == ["C/@x:y+z"] * 4


def test_a_name_with_other_stars_is_refused(tmp_path: Path) -> None:
    text = '- from: 2026-11-03\n  text: x\n  series: "A/*"\n  renamed_to: B\n'
    with pytest.raises(
        UserError, match=r"yaml:4: 'renamed_to' has not as many \* as 'series', 'A/\*'"
    ):
        load(tmp_path, text)


def test_a_renaming_of_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    NightWriter(tmp_path / "reports", series=1).write(1)
    folder = make_checkout(tmp_path)
    (start,) = ledger.read_ledger(tmp_path / "reports", CAMPAIGN, SITE).nights["night"]
    texts = [
        f'- from: {date}\n  text: x\n  series: "{old}/*"\n  renamed_to: "C/*"\n'
        for date, old in (("2026-12-01", "NetPIPE"), ("2026-12-01", "Ring"), (start, "NetPIPE"))
    ]
    load(folder, *texts)
    monkeypatch.chdir(tmp_path)
    command = ["history", SITE, "--reports", str(tmp_path / "reports")]
    third, second = CliRunner().invoke(app, command).stderr.splitlines()
    assert second.endswith(
        "annotations.yaml:8: no night before 2026-12-01 has a case 'Ring/*': right is a pattern of "
        "what these cases were called, such as 'C/number=00@local:smp+openmpi41-boost181'"
    )
    assert f"annotations.yaml:12: no night before {start}" in third
    assert CliRunner().invoke(app, [*command, CAMPAIGN]).stderr == ""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    NightWriter(folder, series=2).write(3)
    return folder


def judge(reports: Path, annotations: tuple[Annotation, ...] = ()) -> tuple[JudgedSeries, ...]:
    site_ledger = ledger.read_ledger(reports, CAMPAIGN, SITE, annotations)
    frames = site_ledger.nights, site_ledger.provenance
    return nights.judge_all_series(
        *frames, analysis.default_settings().history, annotations
    ).judged_series


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
    texts = [renaming(start_time(night), *names[at : at + 2]) for at, night in enumerate(renamed)]
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
    annotations = load(tmp_path, renaming(start_time(2), "NetPIPE", "Beta"), acceptance(reports, 2))
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
    texts = renaming(start_time(2), "NetPIPE", "Beta"), renaming(start_time(3), "Beta", "Gamma")
    annotations = load(tmp_path, *texts, acceptance(reports, 1))
    attached = attach_past_nights(bundle, manifest.verify(bundle), reports, annotations)
    history = ledger.read_attached_history(bundle, attached)
    assert history.nights["case_id"].str.head(5).unique().to_list() == ["Beta/"]
    assert history.accepted["until"].to_list() == [start_time(1)] * 2
    assert "Beta" in history.accepted["series"][1]
    assert history.notes["text"].to_list() == ["accepted: agreed", "x"]
