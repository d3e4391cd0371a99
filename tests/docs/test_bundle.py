"""docs/bundle.md tells every column of a bundle, and its queries run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.hosts import pseudonym
from support.synthetic import Tree

from roundtrip.collect import bundle, bundle_rows, columns, night_rows

GUIDE = (Path(__file__).parents[2] / "docs" / "bundle.md").read_text()
BLOCK = re.compile(r"```python\n(import (\w+).*?)```", re.DOTALL)
QUERIES = {library: query for query, library in BLOCK.findall(GUIDE)}
TABLES = {
    "samples": bundle_rows.Sample,
    "medians": bundle_rows.Median,
    **bundle_rows.ROWS,
    "history/accepted": night_rows.Accepted,
    "history/nights": night_rows.Night,
    "history/notes": night_rows.Note,
    "history/pairs": night_rows.Pair,
    "history/provenance": night_rows.Fact,
}
UNITS = {"_s": "s", "_bytes": "bytes"}


def told(table: str) -> list[list[str]]:
    """Cells of the rows under the heading of a table."""
    section = re.split(r"\n###? ", GUIDE.split(f"### `{table}.parquet`\n")[1])[0]
    rows = re.findall(r"^\| (`.*) \|$", section, re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_described_as_its_row_has_it(table: str) -> None:
    section = re.split(r"\n###? ", GUIDE.split(f"### `{table}.parquet`\n")[1])[0]
    found = re.findall(r"^\|.*$", section, re.MULTILINE)
    assert found == list(columns.guide(TABLES[table])), "\n".join(columns.guide(TABLES[table]))


def test_every_number_has_a_unit() -> None:
    for name, kind, unit, says in (column for table in TABLES for column in told(table)):
        assert says, name
        assert bool(unit) == kind.endswith(("integer", "number")), name
        ending = next((unit for end, unit in UNITS.items() if name.strip("`").endswith(end)), unit)
        assert unit == ending, name


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = Tree(tmp_path_factory.mktemp("guide") / "run", launches=2, samples=3, sizes=[1, 64])
    tree.expected = [{"case": "NetPIPE/mode=stream@local:smp+x", "launches": 1}]
    return bundle.build(tree.write().path)


def answer(name: str, built: Path) -> Any:
    """What the query of that library comes to."""
    pytest.importorskip(name)
    found: dict[str, Any] = {}
    exec(QUERIES[name].replace("BUNDLE", str(built)), found)  # noqa: S102
    return found["answer"]


def test_there_are_three_queries() -> None:
    assert set(QUERIES) == {"polars", "duckdb", "pandas"}


def test_polars(built: Path) -> None:
    found = answer("polars", built)
    assert found.columns == ["toolchain", "case", "size_bytes", "median_s", "launches"]
    assert found["launches"].to_list() == [2] * 4
    assert found.filter(size_bytes=64)["median_s"].min() > 2e-7


COUNTS = [("pingpong", "passed", 4), ("stream", "missing", 1)]


def test_duckdb(built: Path) -> None:
    assert answer("duckdb", built).fetchall() == COUNTS


def test_the_sql_of_duckdb_is_that_of_polars(built: Path) -> None:
    (query,) = re.findall(
        r'"""(.*?)"""', QUERIES["duckdb"].replace("BUNDLE", str(built)), re.DOTALL
    )
    assert pl.sql(query, eager=True).rows() == COUNTS


def test_pandas(built: Path) -> None:
    pytest.importorskip("pyarrow")
    found = answer("pandas", built)
    assert found.loc[pseudonym()].to_dict() == {"median": 10.5, "max": 12}


def test_the_tables_of_pandas_join(built: Path) -> None:
    """As pandas merges them, without pandas."""
    files = re.findall(r'"BUNDLE/(.*?)"', QUERIES["pandas"])
    placement, disturbance = (pl.read_parquet(built / file) for file in files)
    ranks = placement.join(disturbance, on=["launch", "rank"])
    assert ranks.height == 8
    assert ranks["involuntary_context_switches"].median() == 10.5
