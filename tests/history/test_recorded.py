"""What ReFrame 4.0 to 4.10 wrote is read whole, from logs, reports and databases alike."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from roundtrip.history import importer

DATA = Path(__file__).parents[1] / "data" / "reframe"
#: Values of `Stream` (2 sizes, 2 environments, 3 variables, 2 sessions) and of `Latency`, where its
#: second session failed; elsewhere that has values too.
VALUES = dict.fromkeys(("4.3.3-oneline", "4.7.4-compat", "4.10.4-csv", "4.10.4-multiline"), 24 + 3)
STREAM = {("Stream %array_mb=8", "gcc"), ("Stream %array_mb=8", "clang")}
STREAM |= {("Stream %array_mb=64", "gcc"), ("Stream %array_mb=64", "clang")}


def read(kind: str, pattern: str) -> list[importer.Source]:
    files = sorted((DATA / kind).glob(pattern))
    assert files
    return list(importer.read_sources(files, datetime.UTC))


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (folder.name, pattern)
        for folder in sorted(DATA.glob("4.*"))
        for pattern in ("*.log*", "*.json", "*.db")
        if any(folder.glob(pattern))
    ],
)
def test_every_value_is_read(kind: str, pattern: str) -> None:
    sources = read(kind, pattern)
    assert not [reject for source in sources for reject in source.parsed.rejects]
    assert sum(source.parsed.rows.height for source in sources) == VALUES.get(kind, 24 + 3 + 4)
    for source in sources:
        assert (source.parsed.rows["system"] == "tulip").all()
        assert (source.parsed.rows["partition"] == "cpu").all()
        stream = source.parsed.rows.filter(metric="copy")
        assert set(stream.select("name", "environ").rows()) <= STREAM
        assert stream["value"].is_between(20_000, 22_000).all()
        assert (stream["unit"] == "MB/s").all()
        assert (stream["lower"] == -0.9).all() and not stream["upper"].count()
        assert (source.parsed.rows.filter(metric="startup")["upper"] == 5).all()


@pytest.mark.parametrize("kind", ["4.6.3-default", "4.10.4-default"])
def test_logs_and_reports_say_the_same(kind: str) -> None:
    keys = ["name", "environ", "metric", "value", "unit"]
    logs, reports = (
        {row for source in read(kind, pattern) for row in source.parsed.rows.select(keys).rows()}
        for pattern in ("*.log*", "*.json")
    )
    assert logs == reports


def test_a_description_with_the_delimiter_in_it_costs_no_row() -> None:
    content = (DATA / "4.10.4-default" / "Stream.log").read_text().splitlines()
    assert {line.count("|") for line in content[1:]} == {content[0].count("|") + 1}
    (source,) = read("4.10.4-default", "Stream.log")
    assert source.parsed.rows["line"].n_unique() == 8


def test_rows_of_failed_tests_are_counted() -> None:
    (latency,) = read("4.10.4-multiline", "Latency.log")
    assert latency.parsed.empty_rows == 4
    assert latency.parsed.rows.height == 3
