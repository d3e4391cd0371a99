"""What a run says of a Slurm that did not answer reaches the report, and no host name with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.conftest import Maker
from support.synthetic import Tree

from roundtrip.measure import bundle, scheduler
from roundtrip.report import data, renderers
from roundtrip.report.build import build

LOG = """\
1795307959 lost 1503-1795307959 sacct sacct: error: failed to reach host:secret-head:6819
1795307990 back 1503-1795307959
"""


def recorded(tree: Tree, log: str) -> tuple[Any, str]:
    """What the bundle of a tree with this log has of it, and its report."""
    (tree.path / scheduler.LOG_FILE).write_text(log)
    scheduler.record_outages(tree.path)
    bundle_path = bundle.build(tree.path)
    report = renderers.markdown(build(data.read(bundle_path)))
    return json.loads((bundle_path / "env" / "scheduler.json").read_text()), report


def test_the_report_says_how_often_and_how_long(make_tree: Maker) -> None:
    record, report = recorded(make_tree(launches=6), LOG)
    assert "Slurm did not answer once, 31 s in total." in report
    silences = [{"start": "2026-11-22T00:39:19Z", "seconds": 31}]
    assert record == {"scheduler": "slurm", "silences": silences}
    del record["scheduler"]  # as a record of an earlier version
    assert scheduler.describe_outage_record(record) == "Slurm did not answer once, 31 s in total"


def test_a_run_without_silences_records_none(tree: Tree) -> None:
    scheduler.record_outages(tree.path)
    assert not (tree.path / "env" / "scheduler.json").exists()


@pytest.mark.parametrize(
    "content", [None, [], {"silences": 3}, {"silences": [3]}, {"silences": [{"seconds": -1}]}]
)
def test_what_is_no_such_record_says_nothing(content: object) -> None:
    assert scheduler.describe_outage_record(content) == ""


def test_that_accounting_stayed_away_reaches_the_report(make_tree: Maker) -> None:
    tree = make_tree(launches=6)
    record, report = recorded(tree, LOG.replace(" back ", " instead "))
    assert scheduler.describe_outage_record(record) == scheduler.describe_run_outages(tree.path)
    assert "its accounting stayed away" in report


@given(st.lists(st.text(max_size=80) | st.sampled_from(LOG.splitlines()), max_size=6))
def test_any_log_is_read(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    run_dir = tmp_path_factory.mktemp("log")
    good_lines = ["1795307959 unknown 7 rounds/001/x", "1795307960 down 7 a1,a2 rounds/002/y"]
    text = "\n".join([good_lines[0], *lines, "", good_lines[1]])
    (run_dir / scheduler.LOG_FILE).write_text(text, encoding="utf-8", errors="replace")
    assert "rounds/001/x" in scheduler.unknown_jobs(run_dir)
    assert scheduler.nodes_down(run_dir)["rounds/002/y"] == ("a1", "a2")
    scheduler.describe_run_outages(run_dir)
