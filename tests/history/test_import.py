"""``roundtrip import``: what it prints, keeps and counts once."""

import errno
import gzip
import json
import os
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.history import imported_nights, importer, ledger, night_rows, published
from roundtrip.history.importer import ImportOptions
from roundtrip.measure import analysis

DATA = Path(__file__).parents[1] / "data" / "reframe"
HEAD = "job_completion_time|info|job_nodelist|perf_var|perf_value|perf_unit"
WIDGETS = ("--higher-is-better", "wid*")


def row(
    value: float | str, time: str = "2026-11-03T01:00:00", metric: str = "lat", unit: str = "us"
) -> str:
    return f"{time}|Check %n=2 /0123abcd @tulip:cpu+gcc|nid[001-002]|{metric}|{value}|{unit}"


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROUNDTRIP_REPORTS", str(tmp_path / "reports"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "reports" / "imported" / "local" / "imported"


def run(*arguments: object) -> tuple[int, str, list[str]]:
    """Exit status, what was printed last, and the lines of what was set aside."""
    command = ["import", *map(str, arguments), "--site", "local"]
    result = CliRunner().invoke(app, command, standalone_mode=False)
    status = result.return_value
    if isinstance(result.exception, UserError):
        return 2, str(result.exception), result.stderr.splitlines()
    if result.exception:
        raise result.exception
    return int(status or 0), result.stdout.splitlines()[0], result.stderr.splitlines()


def nights(reports: Path) -> pl.DataFrame:
    return imported_nights.read_imports(reports.parent, 0.95)[0]


def log(folder: Path, *rows: str, name: str = "Check.log") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join([HEAD, *rows, ""]))
    return folder / name


@pytest.mark.parametrize("kind", ["4.0.5-default", "4.6.3-default", "4.10.4-default"])
def test_what_a_log_a_report_and_a_database_hold_counts_once(kind: str, reports: Path) -> None:
    assert run(DATA / kind, *WIDGETS)[0] == 0
    nights, provenance = imported_nights.read_imports(reports.parent, 0.95)
    assert dict(nights.schema) == night_rows.NIGHTS
    assert dict(provenance.schema) == night_rows.PROVENANCE
    assert nights.height == 31
    constants = nights.select("launches", "low", "disturbed", "left_out", "foreign").unique()
    assert constants.rows() == [(1, None, 0, "", True)]
    assert nights["night"].n_unique() == 2
    facts = provenance.select("subject", "name", "value").rows()
    assert ("", "ReFrame", kind.partition("-")[0]) in facts
    assert nights.filter(metric="copy")["lower_is_better"].any() is False
    assert nights.filter(metric="latency_8")["lower_is_better"].all()
    copy_nights = nights.filter(metric="copy")
    assert set(copy_nights["case_id"]) == {
        f"Stream/array_mb={size}@tulip:cpu+{environ}"
        for size in (8, 64)
        for environ in ("gcc", "clang")
    }
    series = copy_nights.select("study", "case", "variant").unique()
    assert series.rows() == [("imported", "Stream", "copy")]


def test_a_site_before_the_places_is_taken_with_a_warning(tmp_path: Path, reports: Path) -> None:
    status, _, (line,) = run("local", log(tmp_path / "logs", row(1.5)))
    assert status == 0 and reports.exists()
    assert line.endswith("`import local PLACES` is called `import PLACES --site local` now")


@pytest.mark.nightly
def test_one_file_after_the_other_gives_what_all_at_once_give(reports: Path) -> None:
    for kind in ("4.0.5-default", "4.10.4-default"):
        for file in sorted((DATA / kind).iterdir(), reverse=True):
            run(file, *WIDGETS)
    separate_nights = nights(reports)
    shutil.rmtree(reports)
    run(DATA, *WIDGETS)
    is_separate = pl.col("night").is_in(separate_nights["night"].implode())
    joint_nights = nights(reports).filter(is_separate)
    assert separate_nights.height == 62
    assert joint_nights.drop("digest").equals(separate_nights.drop("digest"))


def test_the_same_file_twice_is_one_import(reports: Path) -> None:
    for _ in range(2):
        assert run(DATA / "4.10.4-multiline", *WIDGETS)[0] == 0
    assert len(list(reports.iterdir())) == 1


def test_of_a_log_that_has_grown_only_what_is_new_is_stored(tmp_path: Path, reports: Path) -> None:
    rows = [row(1.5), row(1.7, "2026-11-03T02:00:00"), row(1.6, "2026-11-04T01:00:00")]
    place = reports.parents[2], "imported", "local"
    importer.import_files(*place, [log(tmp_path / "logs", *rows[:1])], ImportOptions())
    (first_folder,) = reports.iterdir()
    first_bytes = {file.name: file.read_bytes() for file in first_folder.iterdir()}
    _, message, _ = run(file := log(tmp_path / "logs", *rows))
    assert message.startswith("2 new values, 1 imported before; 1 series from 1 file, 0 rows")
    heights = [pl.read_parquet(each / "values.parquet").height for each in reports.iterdir()]
    assert sorted(heights) == [1, 2]
    assert first_bytes == {file.name: file.read_bytes() for file in first_folder.iterdir()}
    frame = nights(reports)
    assert frame.select("night", "median", "launches").rows() == [
        ("2026-11-03T01:00:00Z", 1.6, 2),
        ("2026-11-04T01:00:00Z", 1.6, 1),
    ]
    shutil.rmtree(first_folder)  # undone, and imported again
    again = importer.import_files(*place, [file], ImportOptions())
    assert (again.new_values, again.values) == (1, 3)
    assert nights(reports).equals(frame)


def test_a_report_of_logged_values_adds_its_session_and_no_value(reports: Path) -> None:
    folder = DATA / "4.10.4-default"
    logs, report = sorted(folder.glob("*.log*")), folder / "run-report-0.json"
    assert run(*logs, *WIDGETS)[0] == 0
    provenance = imported_nights.read_imports(reports.parent, 0.95)[1]
    status, message, _ = run(report, *WIDGETS)
    assert status == 0 and message.startswith("0 new values, ")
    assert imported_nights.read_imports(reports.parent, 0.95)[1].height > provenance.height
    assert len(list(reports.iterdir())) == 2


def test_a_test_that_changes_its_unit_is_one_series_in_the_newest(
    tmp_path: Path, reports: Path
) -> None:
    times = [(1.5, "s"), (1600.0, "ms"), (1700.0, "ms")]
    rows = [row(v, f"2026-11-0{n}T01:00:00", unit=u) for n, (v, u) in enumerate(times, 3)]
    rows += [row(7, "2026-11-03T01:00:00", "lat2", "s"), row(7, "2026-11-04T01:00:00", "lat2", "d")]
    # 9e26 B/s is above the limit of values.
    large = [(9e14, "TB/s"), (1.0, "B/s")]
    rows += [row(v, f"2026-11-0{n}T01:00:00", "bw", u) for n, (v, u) in enumerate(large, 3)]
    assert run(log(tmp_path / "logs", *rows), "--lower-is-better", "lat2")[0] == 0
    frame = nights(reports).sort("metric", "night")
    assert frame.select("metric", "unit", "median").rows() == [
        *(("bw", unit, value) for value, unit in large),
        *(("lat", "ms", value) for value in (1500, 1600, 1700)),
        *(("lat2", unit, 7) for unit in ("s", "d")),
    ]


def test_the_interval_of_a_night_is_at_the_level_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(log(tmp_path / "logs", *(row(n, f"2026-11-03T0{n}:00:00") for n in range(1, 7))))
    place = tmp_path / "reports", "imported", "local"
    columns = ["median", "launches", "low", "high"]
    assert ledger.read_ledger(*place).nights.select(columns).rows() == [(3.5, 6, 1, 6)]
    default = analysis.default_settings()
    levels = default.statistics.model_copy(update={"confidence_level": 0.5})
    monkeypatch.setattr(
        published, "site_thresholds", lambda site: replace(default, statistics=levels)
    )
    assert ledger.read_ledger(*place).nights.select(columns).rows() == [(3.5, 6, 2, 5)]


def test_series_of_a_first_night_differ_from_nothing(tmp_path: Path) -> None:
    run(log(tmp_path / "logs", *(row(1, metric=f"m{n}") for n in range(30))))
    printed = CliRunner().invoke(app, ["history", "local"]).stdout
    assert "and 10 more series (--all)" in printed and "differ less" not in printed


@pytest.mark.parametrize(
    ("days", "hours", "starts"),
    [
        ((3, 4), ("01", "12", "23"), ["03T01", "03T12", "04T12"]),
        # Nightly jobs of California, which end at 2 to 5 o'clock there.
        ((3, 4), ("10", "11", "12", "13"), ["03T10", "04T10"]),
        ((3, 4, 5), ("10", "12"), ["03T10", "04T10", "05T10"]),
    ],
)
def test_a_night_ends_at_noon_utc_unless_jobs_run_then(
    tmp_path: Path, reports: Path, days: tuple[int], hours: tuple[str], starts: list[str]
) -> None:
    times = [f"2026-11-{day:02}T{hour}:00:00" for day in days for hour in hours]
    run(log(tmp_path / "logs", *(row(n + 1, time) for n, time in enumerate(times))))
    frame = nights(reports)
    assert frame["night"].to_list() == [f"2026-11-{start}:00:00Z" for start in starts]
    assert frame["launches"].sum() == len(times)


def test_a_job_by_hand_moves_no_other_night() -> None:
    times = [f"2026-12-{day:02}T{hour}:00:00" for day in (3, 4, 5) for hour in ("04", "11", "17")]
    for by_hand in ([], ["2026-12-05T16:00:00"]):
        values = pl.DataFrame({"time": [*times, *by_hand]})["time"].str.to_datetime()
        assert imported_nights._end_of_night(values) == 12 * 3600


def test_lines_with_the_same_fault_are_one_message(tmp_path: Path) -> None:
    rows = [row("nan", f"2026-11-{day:02}T01:00:00") for day in range(1, 31)]
    status, message, rejects = run(log(tmp_path / "logs", *rows, row(1)))
    assert status == 1 and message.endswith("30 set aside")
    assert rejects == [f"{tmp_path}/logs/Check.log:2: lat is not finite (and 29 more)"]


def test_a_rotated_and_packed_log_is_read(tmp_path: Path, reports: Path) -> None:
    file = log(tmp_path / "logs", row(1), name="Check.log.1")
    log(tmp_path / "logs", row(2, "2026-11-05T01:00:00"))
    content = file.read_bytes().replace(b"-03T", b"-04T")
    (tmp_path / "logs" / "Check.log.2.gz").write_bytes(gzip.compress(content))
    (tmp_path / "logs" / "notes.txt").write_text("not a log")
    assert run(tmp_path / "logs")[0] == 0
    assert nights(reports).height == 3


def test_names_of_hosts_and_folders_are_not_kept(tmp_path: Path, reports: Path) -> None:
    bad_row = row(1).replace("|1|", "|x|")
    status, _, rejects = run(log(tmp_path / "logs", row(1), bad_row))
    assert status == 1
    assert rejects == [f"{tmp_path}/logs/Check.log:3: lat is not a number: right is such as 1.5"]
    assert "nid00" not in nights(reports)["nodes"][0]
    assert nights(reports)["nodes"][0].count("+") == 1
    (folder,) = reports.iterdir()
    assert (
        folder / "set-aside.txt"
    ).read_text() == "Check.log:3: lat is not a number: right is such as 1.5\n"
    for file in folder.iterdir():
        assert b"nid00" not in file.read_bytes()
        assert str(tmp_path).encode() not in file.read_bytes()


@pytest.mark.parametrize("nodes", ["nid001", ""])
def test_a_test_on_each_node_is_named_by_pseudonyms(
    tmp_path: Path, reports: Path, nodes: str
) -> None:
    template = row(1).replace("nid[001-002]", nodes)
    lines = [template.replace("%n=2", f"%.nid={host} %n=2") for host in ("nid001", "nid002")]
    assert run(log(tmp_path / "logs", *lines))[0] == 0
    case_ids = nights(reports)["case_id"].unique().sort()
    shape = r"Check/\.nid=node-[0-9a-f]{8},n=2@tulip:cpu\+gcc"
    assert len(case_ids) == 2 and all(re.fullmatch(shape, case_id) for case_id in case_ids)
    (folder,) = reports.iterdir()
    assert not any(b"nid00" in file.read_bytes() for file in folder.iterdir())


def test_a_variable_without_a_direction_is_refused_until_it_has_one(
    tmp_path: Path, reports: Path
) -> None:
    file = log(tmp_path / "logs", row(1), row(5, metric="hits", unit="%"), row(-1, metric="debt"))
    status, message, rejects = run(file)
    assert status == 1
    assert message == (
        "1 new value, 0 imported before; 1 series from 1 file, 0 rows without a value, 2 set aside"
    )
    assert rejects == [
        f"{file}:3: hits, 1 value: the unit '%' does not tell which direction is better: say "
        "--lower-is-better 'hits' or --higher-is-better 'hits'",
        f"{file}:4: debt, 1 value: neither 0 nor 1e-15 to 1e+15: nights are compared by ratios",
    ]
    assert run(file, "--higher-is-better", "hits")[0] == 1
    frame = nights(reports)
    assert frame.select("metric", "lower_is_better").rows() == [("hits", False), ("lat", True)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"\x1f\x8b\x08\x00", "cut off: gzip has no end"),
        (b"hello\n", "environ,perf_var,perf_value,perf_unit'"),
        (b'{"runs": []}', "no report of ReFrame: it has no session_info or no runs"),
        (b'{"runs": [', "not JSON: Expecting value"),
        (b"SQLite format 3\0 and so on", "cannot be read as a database: file is not a database"),
    ],
)
def test_nothing_usable_is_status_2(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "Check.log"
    file.write_bytes(content)
    status, message, rejects = run(file)
    assert (status, rejects) == (2, [])
    assert message.startswith(f"{file}:") and message.endswith(reason)
    status, message, rejects = run(file, file.with_name("none.log"))
    assert (status, message) == (2, "nothing usable in 2 files")
    assert [line.partition(":")[0] for line in rejects] == [str(file), f"{tmp_path}/none.log"]


def test_a_missing_file_fails(tmp_path: Path) -> None:
    assert run(tmp_path / "none.log") == (2, f"{tmp_path}/none.log: missing", [])


def test_a_broken_session_of_a_database_costs_no_other(tmp_path: Path, reports: Path) -> None:
    file = tmp_path / "results.db"
    shutil.copyfile(DATA / "4.10.4-default" / "results.db", file)
    with sqlite3.connect(file) as database:
        first_row = database.execute("SELECT min(rowid) FROM sessions").fetchone()
        database.execute("UPDATE sessions SET json_blob = '{' WHERE rowid = ?", first_row)
    status, _, rejects = run(file, *WIDGETS)
    assert status == 1 and "not JSON" in rejects[0]
    assert nights(reports)["night"].n_unique() == 1


def test_a_test_case_with_a_fault_costs_no_other(tmp_path: Path, reports: Path) -> None:
    data = json.loads((DATA / "4.10.4-default" / "run-report-0.json").read_text())
    tests = data["runs"][0]["testcases"]
    tests[0]["perfvalues"]["tulip:cpu:copy"][0] = float("nan")
    tests[1]["environ"] = None
    (tmp_path / "run-report.json").write_text(json.dumps(data))
    status, _, rejects = run(tmp_path, *WIDGETS)
    assert status == 1
    assert [line.partition(": ")[2] for line in rejects] == [
        "run 0, test case 0: copy is no finite number",
        "run 0, test case 1: no name of the test, or not where it ran",
    ]
    assert nights(reports).filter(metric="copy").height == 2
    assert nights(reports).filter(metric="triad").height == 3


def test_an_import_that_was_changed_is_refused(reports: Path) -> None:
    run(DATA / "4.10.4-multiline", *WIDGETS)
    (folder,) = reports.iterdir()
    with (folder / "values.parquet").open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(UserError, match="sha256"):
        imported_nights.read_imports(reports.parent, 0.95)


def test_links_that_lead_in_a_circle_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "circle.log").symlink_to("circle.log")
    status, message, rejects = run(log(tmp_path / "logs", row(1)), tmp_path / "circle.log")
    assert status == 1 and message.startswith("1 new value, 0 imported before; 1 series")
    assert rejects == [f"{tmp_path}/circle.log: a symbolic link: not followed"]


def test_an_unreadable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "logs", row(1))
    closed_folder = log(tmp_path / "logs" / "closed", row(2, "2026-11-04T01:00:00")).parent
    real_scandir = os.scandir

    def scandir(place: Any) -> Any:
        if Path(place) == closed_folder:  # root may read all, and tests may run as root
            raise PermissionError(errno.EACCES, "Permission denied", str(place))
        return real_scandir(place)

    monkeypatch.setattr(os, "scandir", scandir)
    status, message, rejects = run(tmp_path / "logs")
    assert status == 1 and message.startswith("1 new value, 0 imported before; 1 series")
    assert rejects == [f"{closed_folder}: a folder that cannot be read: Permission denied"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("--lower-is-better", "*", "--higher-is-better", "l*"),
            r"'lat' is meant by --lower-is-better '\*' and --higher-is-better 'l\*'",
        ),
        (
            ("--higher-is-better", "hits*"),
            r"--higher-is-better 'hits\*' matches no variable; there are: lat$",
        ),
        (("--timezone", "Mars"), "Europe/Berlin"),
        (("--timezone", "../../etc/passwd"), "Europe/Berlin"),
        (("--campaign", "../up"), "letters, digits"),
    ],
)
def test_a_wrong_option_and_patterns_that_contradict_or_match_nothing_fail(
    tmp_path: Path, reports: Path, options: tuple[str, ...], complaint: str
) -> None:
    status, message, _ = run(log(tmp_path / "logs", row(1.5)), *options)
    assert status == 2
    assert re.search(complaint, message)
    assert not reports.exists()


def test_what_a_killed_import_left_is_removed_by_the_next(tmp_path: Path, reports: Path) -> None:
    leftover = reports.parent / ".partial-abc"
    leftover.mkdir(parents=True)
    (leftover / "values.parquet").write_text("half")
    assert run(log(tmp_path / "logs", row(1.5)))[0] == 0
    assert not leftover.exists()
    assert len(list(reports.iterdir())) == 1
