"""The report of a campaign over pairs names the sick node first, and maps every pair."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stats.nodes.planted import LEAST, SETTINGS, launches
from support.browser import CHROMIUM, NO_CHROMIUM_REASON, open_browser
from support.pairs import CAMPAIGN, NODE_EMULATION, SITE, PairNightWriter, pseudonym
from support.simulated import find_unlabelled_rows

from roundtrip.content import data
from roundtrip.content.blocks import (
    CollapsibleBlocks,
    Figure,
    Report,
    ReportSection,
    Table,
    plain_text,
)
from roundtrip.content.plot import HeatMap, heat_map_json
from roundtrip.content.series import split_series
from roundtrip.history import ledger
from roundtrip.history.nodes import MeasureName
from roundtrip.measure import manifest
from roundtrip.report import nodes as words
from roundtrip.report import renderers
from roundtrip.report.build import build_report
from roundtrip.report.painter import svg_files
from roundtrip.report.sections import nodes
from roundtrip.stats.nodes.judge import NodeMeasure, judge_nodes
from roundtrip.stats.nodes.launches import NodeLaunches
from roundtrip.units import printable

SICK: Any = {"added_s_by_node": {3: 100e-6}, "has_single_launches": True}
GONE = {"node": pseudonym(99), "state": "drained", "reason": "bad <cable>"}


def report(folder: Path, nights: int = 2, first: int = 0, **options: Any) -> Report:
    writer = PairNightWriter(folder, **options)
    bundle = [writer.night(number) for number in range(first, nights)][-1] / "bundle"
    site_ledger = ledger.read_ledger(folder, CAMPAIGN, SITE)
    ledger.attach_history(bundle, manifest.verify(bundle), site_ledger)
    return build_report(data.read_bundle(bundle))


def part(night_report: Report) -> ReportSection:
    return next(part for part in night_report.sections if part.anchor == nodes.ANCHOR)


def answers(night_report: Report) -> list[str]:
    return [plain_text(answer.text) for answer in part(night_report).answers]


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(tmp_path_factory.mktemp("sick"), facts={"nodes_not_measured": [GONE]}, **SICK)


def folded_tables(night_report: Report) -> list[Table]:
    folds = [block for block in part(night_report).blocks if isinstance(block, CollapsibleBlocks)]
    return [block for fold in folds for block in fold.blocks if isinstance(block, Table)]


def evidence_table(night_report: Report) -> Table:
    tables = [block for block in part(night_report).blocks if isinstance(block, Table)]
    return next(table for table in tables if "q" in table.caption)


def unlabelled_rows(night_report: Report) -> list[str]:
    """The rows of the part on nodes that are called neither emulated nor simulated."""
    page, text = renderers.render_html(night_report), renderers.render_markdown(night_report)
    return [row for row in find_unlabelled_rows(page, text) if nodes.TITLE in row]


def values(figure: Figure) -> dict[str, Any]:
    """What the page's script knows of a map."""
    assert isinstance(figure.content, HeatMap)
    return dict(json.loads(heat_map_json(figure.content)))


def test_the_sick_node_comes_first_and_each_answer_is_short(sick: Report) -> None:
    first, last = answers(sick)
    assert first.startswith(f"{pseudonym(3)} is sick: latency ")
    assert "partners, two nights" in first
    assert last == f"Not measured: {GONE['node']} (drained)."
    assert sick.top_sections[0].question == nodes.SECTION_QUESTION
    assert all(len(text) <= 140 and "EMULATED" not in text for text in (first, last))
    assert unlabelled_rows(sick), "the checker looks at this part"


def test_its_evidence_and_its_nights_are_listed(sick: Report) -> None:
    table = evidence_table(sick)
    assert {row[0].text for row in table.rows} == {pseudonym(3)}
    assert {"latency", "latency inside the node"} <= {row[1].text for row in table.rows}
    history = next(part for part in sick.sections if part.anchor == "history")
    words = "".join(map(str, history.answers[0].text))
    assert "nights that a verdict needs" in words


def test_effects_lead_to_the_nights_of_their_node_and_measure(tmp_path: Path) -> None:
    night_report = report(tmp_path, **SICK)
    night_rows = ledger.read_ledger(tmp_path, CAMPAIGN, SITE).nights
    names_by_key = {series.key: series.identity for series in split_series(night_rows)}
    for row in evidence_table(night_report).rows:
        names = names_by_key[row[3].linked_series_key]
        place = "inside a node" if row[1].text.endswith("inside the node") else "between nodes"
        assert (names["variant"], names["case"]) == (row[0].text, place)
        assert row[1].text.startswith(names["phase"].split()[0])
        assert night_report.history_link(row[3]).endswith(row[3].linked_series_key)
    effect_rows = [row for table in folded_tables(night_report) for row in table.rows]
    assert len(effect_rows) > 16
    for row in effect_rows:
        assert {names_by_key[row[n].linked_series_key]["variant"] for n in (1, 4)} == {row[0].text}
        assert night_report.history_link(row[4])


def test_every_pair_that_met_has_a_cell_on_both_sides(sick: Report) -> None:
    latency = next(figure for figure in part(sick).figures if figure.name == "nodes-1")
    heat = values(latency)
    assert heat["title"] == "Latency" and len(heat["names"]) == 16
    assert np.array(heat["names"])[heat["sick"]].tolist() == [f"* {pseudonym(3)}"]
    places = {(row, column) for row, column, *_ in heat["cells"]}
    assert len(places) == 2 * 8 * 8 and all((b, a) in places for a, b in places)
    effects = [effect for row, _, _, effect, _ in heat["cells"] if row == 3]
    assert min(effects) > 80
    assert next(svg_files(latency)).startswith("<svg") and pseudonym(3) in next(svg_files(latency))
    cores = next(figure for figure in part(sick).figures if figure.name.startswith("cores-"))
    assert values(cores)["names"] == ["0", "1", "2", "3", "4"]


def test_no_rule_of_the_audit_is_broken_and_text_is_escaped(sick: Report) -> None:
    audit = next(part for part in sick.sections if part.anchor == "audit")
    (table,) = (block for block in audit.blocks if isinstance(block, Table))
    failures = [[cell.text for cell in row] for row in table.rows if row[3].text == "fail"]
    assert [row for row in failures if row[2] == nodes.TITLE] == []
    page = renderers.render_html(sick)
    assert "bad &lt;cable&gt;" in page and "bad <cable>" not in page


def test_healthy_nodes_and_a_node_that_never_answers(tmp_path: Path) -> None:
    texts = answers(report(tmp_path / "one", nodes=8, rounds_a_night=6))
    assert len(texts) == 1 and texts[0].startswith("None of 8 nodes stands out; latency +")
    dead_texts = answers(
        report(tmp_path / "two", nodes=8, rounds_a_night=6, failed_nodes=frozenset({5}))
    )
    dead_text = f"{pseudonym(5)} never works: 12 of 12 launches on it"
    assert any(text.startswith(dead_text) for text in dead_texts)
    assert not any("is sick" in text for text in dead_texts)


def test_nodes_of_a_switch_stand_together_and_have_it_beside_them(tmp_path: Path) -> None:
    switch_report = report(tmp_path, nodes=8, rounds_a_night=4, switches=2)
    latency = next(figure for figure in part(switch_report).figures if figure.name == "nodes-1")
    assert values(latency)["names"] == [pseudonym(n) for n in (0, 2, 4, 6, 1, 3, 5, 7)]
    tables = folded_tables(switch_report)
    (members,) = [table for table in tables if names(table) == ["Switch", "Nodes"]]
    assert [[cell.text for cell in row] for row in members.rows] == [
        [f"switch-{switch:08x}", ", ".join(pseudonym(n) for n in range(8) if n % 2 == switch)]
        for switch in (0, 1)
    ]
    effect_tables = [table for table in tables if "Effect" in names(table)]
    assert effect_tables
    for table in effect_tables:
        assert names(table)[:2] == ["Node", "Switch"]
        switches = {row[0].text: row[1].text for row in table.rows}
        assert switches == {pseudonym(n): f"switch-{n % 2:08x}" for n in range(8)}


@pytest.mark.parametrize("slow_nodes", [{3: 100e-6}, {}])
def test_every_value_of_emulated_nodes_says_so(
    tmp_path: Path, slow_nodes: dict[int, float]
) -> None:
    nodes = {"added_s_by_node": slow_nodes, "failed_nodes": frozenset({5}), "switches": 4}
    facts = {"facts": {"nodes_not_measured": [GONE]}, "emulated": NODE_EMULATION}
    night_report = report(tmp_path, has_single_launches=True, **nodes, **facts)
    assert unlabelled_rows(night_report) == []
    texts = [text for text in answers(night_report) if not text.startswith("Not meas")]
    assert all("EMULATED NODES" in text for text in texts)
    assert len(part(night_report).figures) > 2
    assert all("EMULATED NODES" in next(svg_files(figure)) for figure in part(night_report).figures)


def test_values_over_nights_of_which_one_was_emulated_say_so(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, added_s_by_node={3: 100e-6}, emulated=NODE_EMULATION).night(0)
    night_report = report(tmp_path, nights=2, first=1, added_s_by_node={3: 100e-6})
    assert unlabelled_rows(night_report) == []


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


@pytest.mark.skipif(not CHROMIUM, reason=NO_CHROMIUM_REASON)
def test_a_reader_walks_the_map_by_keys_and_by_pointer(sick: Report, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(renderers.render_html(sick))
    with open_browser(tmp_path / "profile") as session:
        session.set_window(1200)
        session.open(page.as_uri())
        session.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
        session.evaluate("document.querySelector('[data-heat] svg[tabindex]').focus()")
        session.press("ArrowDown")
        readout = "document.querySelector('[data-heat] output').textContent"
        first = session.evaluate(readout)
        session.press("ArrowDown")
        assert "µs" in first and "than usual" in first and session.evaluate(readout) != first
        session.press("Escape")
        assert session.evaluate(readout) == ""
        session.evaluate(
            "{ const panel = document.querySelector('[data-heat]');"
            "const [row, column] = JSON.parse(panel.querySelector('script').textContent).cells[0];"
            "panel.querySelector(`rect[data-at='${row} ${column}']`).dispatchEvent("
            "new PointerEvent('pointermove', {bubbles: true})); }"
        )
        assert session.evaluate(readout) == first
        assert session.console_errors() == [] and len(session.requested_urls()) == 1


def measure(place: str, sample: NodeLaunches) -> NodeMeasure:
    name = MeasureName("netpipe", place, "openmpi", "latency", False, 1e-6, "s")
    return NodeMeasure(
        name, replace(sample, names=[f"{place}-{node}" for node in sample.names]), LEAST
    )


def test_a_node_meets_those_of_its_partition_alone() -> None:
    full_measure = measure("a", launches(nodes=8, nights=2, each=4, effects={3: 1.0}))
    partial_measure = measure("b", launches(seed=2, nodes=16, nights=2, each=4, effects={5: 1.0}))
    verdicts = judge_nodes([full_measure, partial_measure], SETTINGS, 0.95)
    assert len(verdicts.nodes) == 24
    sentences = {
        outlier.name: words.describe_outlier(outlier, verdicts) for outlier in verdicts.outliers
    }
    assert sentences.keys() == {"a-n03", "b-n05"}
    assert " with all 7 partners, " in sentences["a-n03"]
    assert " with 8 of 15 partners, " in sentences["b-n05"]


def test_an_interval_that_holds_no_effect_is_said_not_to_name() -> None:
    regular = launches(nodes=16, nights=2, each=4, effects={5: 1.0})
    first = np.flatnonzero((regular.nodes == 5).any(axis=1))[0]
    cost = regular.cost.copy()
    cost[first] -= 1.4
    for sample, holds_zero in ((regular, False), (replace(regular, cost=cost), True)):
        verdicts = judge_nodes([measure("a", sample)], SETTINGS, 0.95)
        (outlier,) = verdicts.outliers
        assert ("not by the interval" in words.describe_outlier(outlier, verdicts)) is holds_zero
        assert words.interval_includes_zero(outlier.evidence[0]) is holds_zero


@pytest.mark.parametrize(
    ("level", "unit", "text"),
    [(1.5e-6, "s", "1.50 µs"), (900.0, "MB/s", "900 MB/s"), (1.25, "1", "mean over median 1.25")],
)
def test_a_level_has_its_unit_or_says_what_it_is(level: float, unit: str, text: str) -> None:
    name = MeasureName("netpipe", "smp", "openmpi", "latency", False, level, unit)
    assert printable(words.describe_usual_level(name)) == text
