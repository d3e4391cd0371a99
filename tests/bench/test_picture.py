"""The picture of real series, and what detectors say of them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from roundtrip import paths
from roundtrip.bench.calibration import picture

DATA = paths.checkout() / "tests" / "data" / "real-histories"
DRAWN = paths.checkout() / "docs" / "images" / "ten-real-series.svg"


def test_the_picture_of_the_guide_is_what_is_found_today() -> None:
    assert picture.read(DATA / "ten.parquet", DATA / "others.json") == DRAWN.read_text()


@pytest.mark.parametrize(
    ("nights", "complaint"), [([9], "s/a, Otava: right are nights, 0 to 4"), (["x"], "right are")]
)
def test_a_night_that_is_none_is_one_line(
    tmp_path: Path, nights: list[object], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series, others = tmp_path / "series.parquet", tmp_path / "others.json"
    frame = {"source": ["s"] * 5, "series": ["a"] * 5, "night": range(5), "value": [1.0] * 5}
    pl.DataFrame(frame).write_parquet(series)
    others.write_text(json.dumps({"s/a": {"Otava": nights}}))
    assert picture.main([str(series), str(others), str(tmp_path / "out.svg")]) == 2
    assert complaint in capsys.readouterr().err
