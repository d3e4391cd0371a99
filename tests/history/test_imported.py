"""The table of an import that somebody changed; what gzip packed; which direction is better."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from roundtrip.errors import UserError
from roundtrip.history import imported_nights, importer
from roundtrip.history.imported_nights import VALUES
from roundtrip.history.importer import lower_is_better

TEXT = dict.fromkeys((name for name, kind in VALUES.items() if kind == pl.String), "x")
ROW: dict[str, Any] = {
    **dict.fromkeys(VALUES),
    **TEXT,
    "time": datetime(2026, 11, 3),
    "facts": '{"version": "4.10.4"}',
    "value": 1.5,
    "lower_is_better": True,
}


def write(folder: Path, **changes: Any) -> Path:
    row = {**ROW, **changes}
    kinds = {name: VALUES.get(name, pl.String) for name in row}
    pl.DataFrame([row], schema=kinds).write_parquet(folder / "values.parquet")
    return folder / "values.parquet"


def test_a_table_that_an_import_may_have_written_is_taken(tmp_path: Path) -> None:
    assert imported_nights.read_values(write(tmp_path)).rows(named=True) == [ROW]
    session_times = {"time": None, "session": datetime(2026, 11, 3)}
    assert imported_nights.read_values(write(tmp_path, **session_times)).height == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"more": "x"}, "its columns differ"),
        ({"metric": None}, "metric is empty where it cannot be"),
        ({"value": float("inf")}, "value 'inf' is not from 1e-15"),
        ({"time": None}, "is not the time of a value"),
        ({"facts": "[]"}, "facts of a session are no texts"),
        ({"facts": '{"version": 4}'}, "facts of a session are no texts"),
        ({"facts": "{"}, "not JSON"),
    ],
)
def test_another_table_is_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        imported_nights.read_values(write(tmp_path, **changes))


@pytest.mark.parametrize(("size", "part"), [(1000, 1000), (1000, 300), (1001, 1001), (1001, 300)])
def test_a_file_is_unpacked_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, size: int, part: int
) -> None:
    monkeypatch.setattr(importer, "_MOST", 1000)
    text = b"x" * size
    parts = (text[start : start + part] for start in range(0, size, part))
    content, fault = importer._gunzip(b"".join(map(gzip.compress, parts)))
    if size > 1000:
        assert content == b"" and fault is not None and fault.reason.startswith("too large")
    else:
        assert (content, fault) == (text, None)


def test_the_nights_of_values_are_foreign_and_undisturbed(tmp_path: Path) -> None:
    nights, _ = imported_nights.form_nights(imported_nights.read_values(write(tmp_path)), 0.95)
    (night,) = nights.rows(named=True)
    assert (night["median"], night["launches"]) == (1.5, 1)
    assert (night["disturbed"], night["left_out"], night["foreign"]) == (0, "", True)


LOWER = ["s", "us", "µs", "ms", "ns", "sec", "seconds", "min", "us/op", "s/iteration", "hours"]
HIGHER = ["MB/s", "GB/s", "Mop/s", "1/s", "GFLOPS", "Gflop/s", "ns/day", "MHz", "Gbps", "tokens/s"]
NEITHER = ["", "%", "W", "J", "widgets", "MB", "shops"]


def test_less_time_is_better_more_rate_is_better_other_units_say_nothing() -> None:
    units = [*LOWER, *HIGHER, *NEITHER]
    directions = {unit: lower_is_better("x", unit, None, None) for unit in units}
    assert directions == {
        **dict.fromkeys(LOWER, True),
        **dict.fromkeys(HIGHER, False),
        **dict.fromkeys(NEITHER),
    }


def test_a_reference_with_one_limit_goes_before_the_unit() -> None:
    assert lower_is_better("x", "s", -0.1, None) is False
    assert lower_is_better("x", "W", None, 0.1) is True
    assert lower_is_better("x", "W", -0.1, 0.1) is None


def test_what_the_user_says_comes_first() -> None:
    assert lower_is_better("x_1", "MB/s", -0.1, None, lower_globs=["x_*"]) is True
    assert lower_is_better("y", "s", None, None, higher_globs=["y"]) is False
