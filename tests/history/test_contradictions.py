"""An import that contradicts an earlier one: that counts, and the message says what to do."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from roundtrip.history import imported_nights, importer
from roundtrip.history.imported_nights import KNOWN_VALUES
from roundtrip.history.importer import ImportOptions
from roundtrip.history.screening import reject_contradictions

COLUMNS = {**KNOWN_VALUES, "source": pl.Int32, "line": pl.Int64}
TEXTS = {name: "" for name, kind in COLUMNS.items() if kind == pl.String}


def table(*rows: tuple[float, str, int], hour: int = 1, **names: object) -> pl.DataFrame:
    """An import of Check.log: value, unit and day of each row, lines 2, 3 and so on."""
    record = {**dict.fromkeys(COLUMNS), **TEXTS, "case_id": "Check", "metric": "lat"}
    record |= {"file": "Check.log", "folder": "imported/1", "zone": "UTC", "source": 0}
    record |= {"lower_is_better": True, **names}
    data = [
        {**record, "time": datetime(2026, 11, day, hour), "value": v, "unit": unit, "line": line}
        for line, (v, unit, day) in enumerate(rows, 2)
    ]
    return pl.DataFrame(data, schema=COLUMNS)


FIRST = table((1.5, "us", 3), (1.6, "us", 4))


def check(rows: pl.DataFrame, known: pl.DataFrame = FIRST, zone: str = "UTC") -> list[str]:
    """What is said of rejected rows; the others are kept."""
    kept, rejects = reject_contradictions(rows, known, zone)
    assert kept.columns == rows.columns
    assert kept.is_empty() == bool(rejects)
    return [f"{reject.line}: {reject.reason}" for _, reject in rejects]


def test_a_log_that_has_grown_contradicts_nothing() -> None:
    assert check(table((1.5, "us", 3), (1.6, "us", 4), (1.7, "us", 4), (1.8, "us", 5))) == []


def test_an_edited_value_is_told_with_the_old_one() -> None:
    assert check(table((1700, "ns", 4), (1.8, "us", 3))) == [
        "2: lat, 2 values: 1700.0 ns where an earlier import of Check.log has 1.6 us at the same "
        "time, which counts: to replace it, remove imported/1, then import again; if both count, "
        "rename the file"
    ]


def test_jobs_of_one_second_count_in_two_logs() -> None:
    assert check(table((1.7, "us", 4), file="Check-2.log")) == []


@pytest.mark.parametrize("name", ["Check.log.1", "Check.log-20261105.gz"])
def test_a_rotated_log_is_the_same_log(name: str) -> None:
    moved = table((1.5, "us", 3), (1.6, "us", 4), hour=0, file=name)
    (reason,) = check(moved, zone="Europe/Berlin")
    assert "but in UTC in an earlier import of Check.log: say --timezone UTC" in reason


@pytest.mark.parametrize("rows", [[(1.5, "us", 3)], [(1.7, "us", 5)]], ids=["same", "new"])
def test_another_direction_is_told(rows: list[tuple[float, str, int]]) -> None:
    known = pl.concat([FIRST, FIRST.with_columns(folder=pl.lit("imported/2"))])
    assert check(table(*rows, lower_is_better=False), known) == [
        "2: lat, 1 value: higher is better, but lower in an earlier import: say "
        "--lower-is-better 'lat', or remove imported/1 and 1 more, then import again"
    ]
    named = {"metric": "lat[0]", "lower_is_better": False}
    (reason,) = check(table(*rows, **named), known.with_columns(metric=pl.lit("lat[0]")))
    assert "say --lower-is-better 'lat[[]0]'" in reason
    both = pl.concat([FIRST, FIRST.with_columns(lower_is_better=False)])
    assert check(table(*rows, lower_is_better=False), both) == []


def test_another_zone_is_told_unless_times_have_their_own() -> None:
    moved = table((1.5, "us", 3), (1.6, "us", 4), hour=0)
    assert check(moved, zone="Europe/Berlin") == [
        "2: lat, 2 values: times in Europe/Berlin, but in UTC in an earlier import of Check.log: "
        "say --timezone UTC, or remove imported/1, then import again"
    ]
    assert check(FIRST, zone="Europe/Berlin") == []
    grown = pl.concat([FIRST, table((1.7, "us", 5))])
    assert check(grown, zone="Europe/Berlin") == []
    other_session = moved.with_columns(session=pl.col("time"))
    assert check(other_session, zone="Europe/Berlin") == []


def test_a_line_that_was_edited_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file, row = tmp_path / "Check.log", "2026-11-03T01:00:00|Check @tulip:cpu+gcc|lat|{}|us\n"
    place = tmp_path / "reports", "imported", "local", [file], ImportOptions(UTC)
    for value in (1.5, 1.7):
        head = "job_completion_time|info|perf_var|perf_value|perf_unit\n"
        file.write_text(head + row.format(1.5).replace("-03T", "-02T") + row.format(value))
        result = importer.import_files(*place)
    (message,) = result.messages
    assert message.startswith(f"{file}:3: lat, 1 value: 1.7 us where an earlier import")
    assert (result.new_values, result.values, result.set_aside) == (0, 1, 1)
    nights = imported_nights.read_imports(tmp_path / "reports" / "imported" / "local", 0.95)[0]
    assert nights["median"].to_list() == [1.5, 1.5]
