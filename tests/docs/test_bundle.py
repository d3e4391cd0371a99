"""The queries of docs/bundle.md run."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.synthetic import SyntheticTree, pseudonym

from roundtrip.measure import bundle

GUIDE = (Path(__file__).parents[2] / "docs" / "bundle.md").read_text()
BLOCK = re.compile(r"```python\n(import (\w+).*?)```", re.DOTALL)
QUERIES = {library: query for query, library in BLOCK.findall(GUIDE)}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = SyntheticTree(
        tmp_path_factory.mktemp("guide") / "run", launches=2, samples=3, sizes=[1, 64]
    )
    tree.expected = [{"case": "NetPIPE/mode=stream@local:smp+x", "launches": 1}]
    return bundle.build_bundle(tree.write().path)


def answer(name: str, built: Path) -> Any:
    pytest.importorskip(name)
    namespace: dict[str, Any] = {}
    exec(QUERIES[name].replace("BUNDLE", str(built)), namespace)  # noqa: S102
    return namespace["answer"]


def test_polars(built: Path) -> None:
    table = answer("polars", built)
    assert table.columns == ["toolchain", "case", "size_bytes", "median_s", "launches"]
    assert table["launches"].to_list() == [2] * 4
    assert table.filter(size_bytes=64)["median_s"].min() > 2e-7


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
    table = answer("pandas", built)
    assert table.loc[pseudonym()].to_dict() == {"median": 10.5, "max": 12}


def test_the_tables_of_pandas_join(built: Path) -> None:
    """As pandas merges them, without pandas."""
    files = re.findall(r'"BUNDLE/(.*?)"', QUERIES["pandas"])
    placement, disturbance = (pl.read_parquet(built / file) for file in files)
    ranks = placement.join(disturbance, on=["launch", "rank"])
    assert ranks.height == 8
    assert ranks["involuntary_context_switches"].median() == 10.5
