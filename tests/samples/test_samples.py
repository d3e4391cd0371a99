"""The samples are what this checkout makes of their bundles and nights, small, and as they say."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from roundtrip.content import series
from roundtrip.history import detection
from roundtrip.history.night_rows import NIGHTS, PROVENANCE, SERIES
from roundtrip.measure import analysis, store
from roundtrip.report import publish

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SAMPLE = SAMPLES / "sixty-nights"
PLANTED = 41
#: Messages of 4 KiB and more wait for their receiver; those of 64 KiB did so before.
SLOWED = range(4096, 65536)
VARIABLE = "variable OMPI_MCA_btl_tcp_eager_limit"


@pytest.fixture(scope="module")
def rebuild() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rebuild", SAMPLES / "rebuild.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rebuilt(rebuild: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target: Path = tmp_path_factory.mktemp("samples") / "reports"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(target.parent))
        rebuild.reports(target)
    return target


def test_every_file_is_rebuilt_byte_for_byte(rebuilt: Path) -> None:
    digests = store.digest_by_path(rebuilt), store.digest_by_path(SAMPLES / "reports")
    assert publish.differing_paths(*digests) == [], "run: python samples/rebuild.py"


def test_the_table_of_machines_has_the_numbers_of_the_reports(rebuilt: Path) -> None:
    index = (rebuilt / "index.html").read_text()
    table = index[index.index('id="machines"') : index.index("</table>", index.index("machines"))]
    rows = re.findall(r'data-label="Value"[^>]*>(.*?)</td>.*?href="([^"]*)">', table)
    assert rows
    for value, report in rows:
        text = (rebuilt / report).with_suffix(".md").read_text().replace("\\", "")
        assert re.sub("<[^>]*>", "", value) in text


def test_each_report_is_linked_from_the_list() -> None:
    links = re.findall(r"\]\((reports/[^)]*report\.html)\)", (SAMPLES / "README.md").read_text())
    pages = [page.relative_to(SAMPLES).as_posix() for page in SAMPLES.rglob("report.html")]
    assert pages and sorted(set(links)) == sorted(pages)


def test_the_samples_are_small() -> None:
    assert sum(file.stat().st_size for file in (SAMPLES / "reports").rglob("*")) < 24_000_000


@pytest.fixture(scope="module")
def nights() -> pl.DataFrame:
    return pl.read_parquet(SAMPLE / "nights.parquet")


def test_the_page_is_rebuilt_byte_for_byte(rebuild: ModuleType) -> None:
    page = (SAMPLE / "history.html").read_text(encoding="utf-8")
    assert rebuild.nights() == page, "run: python samples/rebuild.py"


def test_the_planted_regression_is_found_where_it_was_planted_and_nothing_else(
    nights: pl.DataFrame,
) -> None:
    histories = detection.histories(nights, analysis.default_settings().history)
    size = list(SERIES).index("size_bytes")
    slowed_histories = {names: histories[names] for names in histories if names[size] in SLOWED}
    assert (len(histories), len(slowed_histories)) == (160, 40)
    assert all(history.nights_used == 60 for history in histories.values())
    step_lists = [history.steps for history in slowed_histories.values() if history.steps]
    assert len(step_lists) >= 30
    assert {len(steps) for steps in step_lists} == {1}
    assert {steps[0].night + 1 for steps in step_lists} <= {PLANTED, PLANTED + 1}
    assert all(steps[0].ratio > 1 for steps in step_lists)
    other_histories = [histories[names] for names in histories if names not in slowed_histories]
    assert not [history for history in other_histories if history.steps or history.drift]


def test_the_setting_is_the_only_fact_that_changed(nights: pl.DataFrame) -> None:
    facts = pl.read_parquet(SAMPLE / "provenance.parquet")
    night_times = nights["night"].unique().sort().to_list()
    changes = series.changes_by_night(facts, night_times)
    assert list(changes) == [night_times[PLANTED - 1]]
    (change,) = changes[night_times[PLANTED - 1]]
    assert (change.name, change.after) == (VARIABLE, "4096")


def test_the_page_says_that_it_is_emulated_planted_and_no_two_months() -> None:
    page = (SAMPLE / "history.html").read_text(encoding="utf-8")
    assert page.count('<b class="mark">EMULATED NODES</b>') == 160
    notices = " ".join(re.findall(r'<p class="notice">(.*?)</p>', page))
    assert "EMULATED NODES" in notices
    assert "not calendar days" in notices
    assert "planted" in notices


def test_the_ledger_is_small_and_names_no_place_of_the_machine(nights: pl.DataFrame) -> None:
    facts = pl.read_parquet(SAMPLE / "provenance.parquet")
    assert dict(nights.schema) == {name: kind() for name, kind in NIGHTS.items()}
    assert dict(facts.schema) == {name: kind() for name, kind in PROVENANCE.items()}
    assert not facts.filter(pl.col("value").str.starts_with("/")).height
    assert sum(file.stat().st_size for file in SAMPLE.iterdir()) < 2_000_000
