"""The sample reports are what this checkout makes of their bundles, and they are small."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from roundtrip.measure import store
from roundtrip.report import publish

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(scope="module")
def rebuilt(rebuild: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target: Path = tmp_path_factory.mktemp("samples") / "reports"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(target.parent))
        rebuild.reports(target)
    return target


def test_every_file_is_rebuilt_byte_for_byte(rebuilt: Path) -> None:
    differences = publish.differences(store.contents(rebuilt), store.contents(SAMPLES / "reports"))
    assert differences == [], "run: python samples/rebuild.py"


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
