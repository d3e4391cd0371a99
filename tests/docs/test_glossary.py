"""Every term that a report prints in a verdict, a label or the heading of a table is explained."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ring
from support.measured import study_section

from roundtrip.content import data, labels
from roundtrip.content.blocks import Block, CollapsibleBlocks, ReportSection, Table
from roundtrip.measure import bundle, bundle_rows
from roundtrip.measure.columns import setting_rows
from roundtrip.report.build import build_report
from roundtrip.stats.verdicts import Family, Verdict

CHECKOUT = Path(__file__).parents[2]
DOCS = CHECKOUT / "docs"
PACKAGE = CHECKOUT / "src" / "roundtrip"
TERM = re.compile(r"\*\*([^*]+)\*\*")
#: Words of headings that mean what they mean everywhere, and those that every user of MPI knows.
_PLAIN = """
% ' / 's a added against agrees all and as at b be because by bytes call clock cluster compiler
concerned constant cost costs data datatypes delay discarded done evidence expected fact fail
figure file find fixed flags for found free from gain hand has here in it its kb kib largest
launched least library link longer made make mb mb/s measured median memory message messages
messages/s mflop/s mib million ms most no ns number of one open or other our ours over own pair
pattern per process processor processors rate reason resolution result rule s said same says
size sizes smallest speeds status than the theirs theoretical they this time times to today type
undisturbed up value outcome version was we what where why with µs best mpi-shm mpi-sync mpi-typed
pvm-xdr
adapters benchmark binding communication compute copying efficiency firmware governor kernel
microcode mpi netpipe node npb osu overhead peak processing rank ranks rtt smt source speed-up
transport transports warm-up
"""
PLAIN = set(_PLAIN.split())


def terms() -> set[str]:
    text = (DOCS / "glossary.md").read_text()
    return {term.strip().lower() for term in TERM.findall(text)}


def lacking(text: str) -> list[str]:
    """The words of a heading that are neither a term nor plain."""
    known_terms = terms()
    name = text.lower().replace("\N{NO-BREAK SPACE}", " ")
    for term in sorted(known_terms, key=len, reverse=True):
        name = re.sub(rf"(?<![\w½-]){re.escape(term)}(?:e?s)?(?![\w½-])", " ", name)
    words = re.split(r"[\s,:()“”]+", name)
    return [word for word in words if word and word not in PLAIN and not re.search(r"\d", word)]


def blocks_of(part: ReportSection) -> Iterator[Table]:
    def inside(blocks: tuple[Block, ...]) -> Iterator[Table]:
        for block in blocks:
            if isinstance(block, Table):
                yield block
            elif isinstance(block, CollapsibleBlocks):
                yield from inside(block.blocks)

    yield from part.verdict_tables
    yield from inside(part.blocks)


@pytest.fixture
def parts(make_tree: Callable[..., Any]) -> list[ReportSection]:
    """A report of NetPIPE, with too few launches for some verdicts, and the ring's part."""
    tree = make_tree(launches=9, samples=8)
    return [
        *build_report(data.read_bundle(bundle.build_bundle(tree.path))).sections,
        study_section(ring.ring_data(ring.TRANSPORT_COSTS)),
    ]


def test_the_words_of_verdicts_and_labels_are_explained() -> None:
    emulations = ({"wan_rtt_ms": 2}, {"hub_mbit_s": 10}, {"nodes": 2})
    marks = [labels.launch_label(setting_rows(emulation), True) for emulation in emulations]
    mark_names = [part.split(":")[0] for mark in marks for part in mark.split("; ")]
    words = {
        *Verdict,
        *(family.split()[-1] if " " in family else family for family in Family),
        *mark_names,
    }
    words |= set(bundle_rows.STATUSES)
    assert not {str(word).lower() for word in words} - terms() - {"toolchains"}


def test_headings_and_verdicts_of_reports_are_explained(parts: list[ReportSection]) -> None:
    headings = {
        column.name for part in parts for table in blocks_of(part) for column in table.columns
    }
    toolchains = {name for name in headings if "Boost" in name or "Open MPI" in name}
    unknown = {name: lacking(name) for name in headings - toolchains if lacking(name)}
    assert len(headings) > 40
    assert not unknown, str(unknown)
    verdicts = {
        re.split(r",|:| where| on | at | \(", verdict)[0]
        for part in parts
        for table in blocks_of(part)
        for row in table.rows
        for cell in row
        if cell.verdict and "is faster" not in cell.verdict
        for verdict in cell.verdict.split("; ")  # one for each toolchain
    }
    assert verdicts and not {verdict for verdict in verdicts if lacking(verdict)}


def test_headings_and_outcomes_that_the_code_names_are_explained() -> None:
    studies = re.findall(r"^\| `(\w+)` \|", (DOCS / "design.md").read_text(), re.MULTILINE)
    files = [*(PACKAGE / "report").rglob("*.py")]
    files += [file for study in studies for file in (PACKAGE / "studies" / study).glob("*.py")]
    names = {
        name.replace("{}", "").strip()  # where a unit is printed
        for file in files
        for name in _named(ast.parse(file.read_text()))
    }
    unknown = {name: lacking(name) for name in names if lacking(name)}
    assert len(names) > 60
    assert not unknown, str(unknown)


def _named(tree: ast.Module) -> Iterator[str]:
    """Literal headings of columns, and the outcomes that have a colour."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Column":
            if node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.value, ast.Dict)
            and ast.unparse(node.annotation).endswith("StatusColour]")
        ):
            keys = node.value.keys
            yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))


def test_the_list_is_short_and_explains_no_term_twice() -> None:
    entries = re.findall(r"^\* \*\*.*", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    assert 40 < len(entries) <= 60
    entry_terms = [term.lower() for entry in entries for term in TERM.findall(entry)]
    assert sorted(entry_terms) == sorted(set(entry_terms))
