"""The report of a campaign over pairs names the sick node first, and maps every pair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import labels
from support.browser import CHROMIUM, WHY_SKIPPED, browser
from support.pairs import CAMPAIGN, EMULATED, SITE, Pairs, pseudonym

from roundtrip.collect import manifest
from roundtrip.history import ledger
from roundtrip.report import data, renderers
from roundtrip.report.blocks import Figure, Fold, Part, Report, Table
from roundtrip.report.build import build
from roundtrip.report.pages.series import split_series
from roundtrip.report.painter import drawing
from roundtrip.report.plot import Heat, heat_json
from roundtrip.report.sections import nodes

GONE = {"node": pseudonym(99), "state": "drained", "reason": "bad <cable>"}


def report(folder: Path, nights: int = 2, first: int = 0, **options: Any) -> Report:
    writer = Pairs(folder, **options)
    newest = [writer.night(number) for number in range(first, nights)][-1] / "bundle"
    known = ledger.read_ledger(folder, CAMPAIGN, SITE)
    ledger.attach(newest, manifest.verify(newest), known)
    return build(data.read(newest))


def part(shown: Report) -> Part:
    (found,) = (one for one in shown.parts if one.anchor == nodes.ANCHOR)
    return found


def answers(shown: Report) -> list[str]:
    found = part(shown).answers
    return ["".join(str(getattr(word, "text", word)) for word in one.text) for one in found]


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("sick")
    return report(folder, slow={3: 100e-6}, alone=True, facts={"nodes_not_measured": [GONE]})


def values(figure: Figure) -> dict[str, Any]:
    """What the page's script knows of a map."""
    assert isinstance(figure.content, Heat)
    return dict(json.loads(heat_json(figure.content)))


def test_the_sick_node_comes_first_and_each_answer_is_short(sick: Report) -> None:
    first, last = answers(sick)
    assert first.startswith(f"{pseudonym(3)} is sick: latency ")
    assert "partners, two nights" in first
    assert last == f"Not measured: {GONE['node']} (drained)."
    assert sick.top_parts[0].question == nodes.QUESTION
    assert all(len(one) <= 140 for one in (first, last))


def test_its_evidence_and_its_nights_are_listed(sick: Report) -> None:
    (table,) = (one for one in part(sick).blocks if isinstance(one, Table) and "q" in one.caption)
    assert {row[0].text for row in table.rows} == {pseudonym(3)}
    assert {"latency", "latency inside the node"} <= {row[1].text for row in table.rows}
    history = next(one for one in sick.parts if one.anchor == "history")
    words = "".join(map(str, history.answers[0].text))
    assert "a series can be judged from night" in words


def test_effects_lead_to_the_nights_of_their_node_and_measure(tmp_path: Path) -> None:
    shown = report(tmp_path / "reports", slow={3: 100e-6}, alone=True)
    known = ledger.read_ledger(tmp_path / "reports", CAMPAIGN, SITE).nights
    found = {one.key: one.names for one in split_series(known)}
    (evidence,) = (
        one for one in part(shown).blocks if isinstance(one, Table) and "q" in one.caption
    )
    for row in evidence.rows:
        names = found[row[3].origin]
        inside = "inside a node" if row[1].text.endswith("inside the node") else "between nodes"
        assert (names["variant"], names["case"]) == (row[0].text, inside)
        assert row[1].text.startswith(names["phase"].split()[0])
        assert shown.link(row[3]).endswith(row[3].origin)
    folds = [one for one in part(shown).blocks if isinstance(one, Fold)]
    every = [
        row for fold in folds for one in fold.blocks if isinstance(one, Table) for row in one.rows
    ]
    assert len(every) > 16
    for row in every:
        assert {found[row[n].origin]["variant"] for n in (1, 4)} == {row[0].text}
        assert shown.link(row[4])


def test_every_pair_that_met_has_a_cell_on_both_sides(sick: Report) -> None:
    latency = next(one for one in part(sick).figures if one.name == "nodes-1")
    drawn = values(latency)
    assert drawn["title"] == "Latency" and len(drawn["names"]) == 16
    assert [name for name, bad in zip(drawn["names"], drawn["sick"], strict=True) if bad] == [
        f"* {pseudonym(3)}"
    ]
    places = {(row, column) for row, column, *_ in drawn["cells"]}
    assert len(places) == 2 * 8 * 8 and all((b, a) in places for a, b in places)
    mine = [effect for row, _, _, effect, _ in drawn["cells"] if row == 3]
    assert min(mine) > 80
    assert drawing(latency).startswith("<svg") and pseudonym(3) in drawing(latency)
    cores = next(one for one in part(sick).figures if one.name.startswith("cores-"))
    assert values(cores)["names"] == ["0", "1", "2", "3", "4"]


def test_no_rule_of_the_audit_is_broken_and_text_is_escaped(sick: Report) -> None:
    audit = next(one for one in sick.parts if one.anchor == "audit")
    (table,) = (one for one in audit.blocks if isinstance(one, Table))
    broken = [[cell.text for cell in row] for row in table.rows if row[3].text == "fail"]
    assert [row for row in broken if row[2] == nodes.TITLE] == []
    page = renderers.html(sick)
    assert "bad &lt;cable&gt;" in page and "bad <cable>" not in page


def test_healthy_nodes_and_a_node_that_never_answers(tmp_path: Path) -> None:
    healthy = answers(report(tmp_path / "one", nodes=8, each=6))
    assert len(healthy) == 1 and healthy[0].startswith("No node stands out of 8; latency +")
    dead = answers(report(tmp_path / "two", nodes=8, each=6, failed=frozenset({5})))
    assert any(one.startswith(f"{pseudonym(5)} is flaky: 12 of 12 launches on it") for one in dead)
    assert not any("is sick" in one for one in dead)


def test_nodes_of_a_switch_stand_together_and_have_it_beside_them(tmp_path: Path) -> None:
    shown = part(report(tmp_path, nodes=8, each=4, switches=2))
    latency = next(one for one in shown.figures if one.name == "nodes-1")
    assert values(latency)["names"] == [pseudonym(n) for n in (0, 2, 4, 6, 1, 3, 5, 7)]
    folded = [block for fold in shown.blocks if isinstance(fold, Fold) for block in fold.blocks]
    tables = [one for one in folded if isinstance(one, Table)]
    (members,) = [one for one in tables if names(one) == ["Switch", "Nodes"]]
    assert [[cell.text for cell in row] for row in members.rows] == [
        [f"switch-{switch:08x}", ", ".join(pseudonym(n) for n in range(8) if n % 2 == switch)]
        for switch in (0, 1)
    ]
    effects = [one for one in tables if "Effect" in names(one)]
    assert effects
    for table in effects:
        assert names(table)[:2] == ["Node", "Switch"]
        switches = {row[0].text: row[1].text for row in table.rows}
        assert switches == {pseudonym(n): f"switch-{n % 2:08x}" for n in range(8)}


@pytest.mark.parametrize("sick_ones", [{3: 100e-6}, {}])
def test_every_value_of_emulated_nodes_says_so(tmp_path: Path, sick_ones: dict[int, float]) -> None:
    shown = report(
        tmp_path,
        slow=sick_ones,
        failed=frozenset({5}),
        alone=True,
        switches=4,
        facts={"nodes_not_measured": [GONE]},
        emulated=EMULATED,
    )
    found = labels.rows(renderers.html(shown), renderers.markdown(shown))
    assert [one for one in found if nodes.TITLE in one] == []
    assert all("EMULATED NODES" in one for one in answers(shown) if not one.startswith("Not meas"))
    assert len(part(shown).figures) > 2
    assert all("EMULATED NODES" in drawing(one) for one in part(shown).figures)


def test_values_over_nights_of_which_one_was_emulated_say_so(tmp_path: Path) -> None:
    Pairs(tmp_path, slow={3: 100e-6}, emulated=EMULATED).night(0)
    shown = report(tmp_path, nights=2, first=1, slow={3: 100e-6})
    found = labels.rows(renderers.html(shown), renderers.markdown(shown))
    assert [one for one in found if nodes.TITLE in one] == []


def test_measured_nodes_have_no_label(sick: Report) -> None:
    assert not any("EMULATED" in one for one in answers(sick))
    found = labels.rows(renderers.html(sick), renderers.markdown(sick))
    assert any(nodes.TITLE in one for one in found), "the checker looks at this part"


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


@pytest.mark.skipif(not CHROMIUM, reason=WHY_SKIPPED)
def test_a_reader_walks_the_map_by_keys_and_by_pointer(sick: Report, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(renderers.html(sick))
    with browser(tmp_path / "profile") as one:
        one.size(1200)
        one.open(page.as_uri())
        one.run("document.querySelectorAll('details').forEach(it => { it.open = true; })")
        one.run("document.querySelector('[data-heat] svg[tabindex]').focus()")
        one.press("ArrowDown")
        said = "document.querySelector('[data-heat] output').textContent"
        first = one.run(said)
        one.press("ArrowDown")
        assert "µs" in first and "than usual" in first and one.run(said) != first
        one.press("Escape")
        assert one.run(said) == ""
        one.run(
            "{ const panel = document.querySelector('[data-heat]');"
            "const [row, column] = JSON.parse(panel.querySelector('script').textContent).cells[0];"
            "panel.querySelector(`rect[data-at='${row} ${column}']`).dispatchEvent("
            "new PointerEvent('pointermove', {bubbles: true})); }"
        )
        assert one.run(said) == first
        assert one.faults() == [] and len(one.requests()) == 1
