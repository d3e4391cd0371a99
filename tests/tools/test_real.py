"""The picture of real series, and what detectors say of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from roundtrip import paths
from tools.calibration import real

DATA = paths.checkout() / "tests" / "data" / "real-histories"
DRAWN = paths.checkout() / "docs" / "images" / "ten-real-series.svg"


def test_the_picture_of_the_guide_is_what_is_found_today() -> None:
    assert real.draw(DATA / "ten.parquet", DATA / "others.json") == DRAWN.read_text()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"s/a": {"Otava": [9]}}', "s/a, Otava: right are nights, 0 to 4"),
        ('{"s/b": {"Otava": [0]}}', "s/b: series.parquet has no such series"),
        ('{"s/a": {"Otava": [true]}}', "right is JSON: by source/series and detector, nights"),
        ('[{"s/a": 1}]', "right is JSON"),
        ('{"s/a"', "right is JSON"),
        ("\0", "right is JSON"),
    ],
)
def test_bad_nights_are_one_line(
    tmp_path: Path, content: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series, others = tmp_path / "series.parquet", tmp_path / "others.json"
    frame = {"source": ["s"] * 5, "series": ["a"] * 5, "night": range(5), "value": [1.0] * 5}
    pl.DataFrame(frame).write_parquet(series)
    others.write_text(content)
    assert real.main([str(series), str(others), str(tmp_path / "out.svg")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{others}: ") and error.count("\n") == 1 and complaint in error


def test_a_label_belongs_to_its_values_in_any_order_of_the_rows(tmp_path: Path) -> None:
    rows = [("s", name, n, 1.0 + (name == "a")) for name in ("b", "a") for n in range(5)]
    for order in (rows, rows[::-1]):
        file = tmp_path / "series.parquet"
        schema = ["source", "series", "night", "value"]
        pl.DataFrame(order, schema=schema, orient="row").write_parquet(file)
        series = real.load(file)["s"]
        assert list(series) == ["a", "b"]
        assert series["a"].min() > series["b"].max()
