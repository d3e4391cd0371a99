"""What the report says of launches: what went wrong with them, and where the noise is."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl
from support.bundles import read_tree
from support.json_files import edit
from support.measured import find_table
from support.synthetic import pseudonym

from roundtrip.content.blocks import (
    BulletList,
    Paragraph,
    ReportSection,
    Table,
    flatten_blocks,
    plain_text,
)
from roundtrip.content.data import BundleData
from roundtrip.report.sections import launches, spread

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]


def words(bundle_data: BundleData) -> list[str]:
    return [plain_text(answer.text) for answer in launches.build_section(bundle_data).answers]


def test_each_fault_has_a_line_and_health_has_one(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    tree.amend_json("run.json", disturbance={})
    (answer,) = launches.build_section(read_tree(tree)).answers
    assert plain_text(answer.text) == "Yes, all 6 completed; none was disturbed."
    assert answer.status_colour == "good"
    tree.fail_launch(6, ENVIRON, fail_reason="killed")
    bundle_data = read_tree(tree)
    sentences = ["No: 5 of 6 completed; none was disturbed.", "Failed: 1 attempt at a launch."]
    assert words(bundle_data) == sentences
    answers = launches.build_section(bundle_data).answers
    assert {answer.status_colour for answer in answers} == {"bad"}


def test_a_partial_launch_is_counted_apart(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    tree.amend_json("run.json", disturbance={})
    coverage = {"measured": 4, "wanted": 20}
    edit(tree.launch_folder(6, ENVIRON) / "run.json", coverage=coverage)
    bundle_data = read_tree(tree)
    assert words(bundle_data) == [
        "No: 5 of 6 completed; none was disturbed.",
        "Partial: 1 launch measured too few sizes; left out.",
    ]
    partial = bundle_data.launches.filter(status="partial")
    assert partial["launch"].to_list() == [f"006/{ENVIRON}/NetPIPE_ping"]
    assert partial["launch"][0] not in bundle_data.samples.collect()["launch"]


def test_mismatches_of_the_same_words_are_one_with_the_node_that_all_have(
    make_tree: Maker,
) -> None:
    bundle_data = read_tree(make_tree(launches=6, environs=(ENVIRON,)))
    sick, *others = map(pseudonym, ("a", "b", "c", "d"))
    sides = ("loaded a/libmpi.so.40", "loaded b/libmpi.so.12")
    reasons = [
        f"mismatch: rank 1 on {others[0]} {sides[0]}, rank 0 on {sick} {sides[1]}",
        f"mismatch: rank 1 on {sick} {sides[1]}, rank 0 on {others[1]} {sides[0]}; last words: x",
        f"mismatch: rank 7 on {others[2]} {sides[0]}, rank 3 on {sick} {sides[1]}",
        "mismatch: the launch used 1 node, not 2",
        *(None, None),
    ]
    rows = bundle_data.launches.with_columns(reason=pl.Series(reasons))
    lines = [line for line in words(replace(bundle_data, launches=rows)) if "Mism" in line]
    first = reasons[0].removeprefix("mismatch: ")
    assert lines == [
        f"Mismatch: {first}; 2 more attempts like this, all with {sick}.",
        "Mismatch: the launch used 1 node, not 2.",
    ]


def between(tree: Any, number: int, hosts: tuple[str, str], **facts: Any) -> None:
    """That launch ran on two hosts, the second of which differs from the first by `facts`."""
    placement = [{"rank": rank, "host": host, "cpus": [0]} for rank, host in enumerate(hosts)]
    disturbance = {"clock_rate": [1.0, 1.0], "clock_rate_error": [0.0, 1e-5], **facts}
    changes = {"hosts": list(hosts), "placement": placement, "disturbance": disturbance}
    edit(tree.launch_folder(number, ENVIRON) / "run.json", **changes, nodes=None)


def test_the_largest_change_of_a_median_without_disturbed_launches() -> None:
    columns = dict.fromkeys(spread.SPREAD_KEY_COLUMNS, "")
    rows = [
        {"number": number, **columns, "median": value, "disturbed": is_disturbed}
        for number, values in enumerate(([1.0, 1.0, 9.0], [1.0, 1.2], [9.0]))
        for value, is_disturbed in zip(values, (False, False, True)[-len(values) :], strict=True)
    ]
    text = launches._describe_median_changes(pl.DataFrame(rows)).replace("\xa0", " ")
    assert text == (
        "1 median rests on disturbed launches alone; without disturbed launches no median would "
        "change by more than 9.1 %."
    )


def test_a_node_with_a_fast_clock_is_named(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    between(tree, 1, ("n1", "n2"))
    between(tree, 2, ("n1", "n3"), clock_rate=[1.0, 1.3], utc_ahead_s=[0.0, 120.0])
    between(tree, 3, ("n3", "n2"), clock_rate=[1.0, 1 / 1.3], utc_ahead_s=[0.0, -120.0])
    for number in (4, 5, 6):
        between(tree, number, ("n1", "n1"))
    completeness, rate, offset, disturbance = words(read_tree(tree))
    assert completeness == "Yes, all 6 completed."
    text = "2 of 6 launches were disturbed, most often: the clock of "
    assert disturbance.startswith(text)
    assert "Without disturbed launches no median would change by more than " in disturbance
    node = pseudonym("n3")
    assert rate == (
        f"The clock of {node} runs 1.3 times as fast as those of 2 other nodes: "
        "its times are wrong."
    )
    assert offset == (
        f"The wall clock of {node} is 120 s ahead of those of 2 other nodes: its logs are misdated."
    )


PREEMPTED = (
    "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22T10:07:01 DUE TO PREEMPTION\n"
)
NOT_MEASURED = [{"host": "n2", "state": "drained", "reason": "bad DIMM"}]
NODES = {"schema": 1, "partitions": {"smp": {"hosts": ["n1"], "not_measured": NOT_MEASURED}}}


def texts(part: ReportSection) -> Iterator[str]:
    for block in flatten_blocks(part.blocks):
        if isinstance(block, Paragraph):
            yield plain_text(block.text)
        if isinstance(block, Table):
            yield from (" | ".join(cell.text for cell in row) for row in block.rows)


def test_a_displaced_launch_is_counted_apart_and_is_no_failure(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    stage = tree.fail_launch(2, ENVIRON, fail_reason="sanity error: no end marker")
    (stage / "rfm_job.err").write_text(PREEMPTED)
    lines = list(texts(launches.build_section(read_tree(tree))))
    sentence = "Slurm displaced 1 launch (1 preempted): repeated, and counted against no case."
    assert sentence in lines
    (counts,) = [
        line for line in lines if line.startswith(tree.case_id(ENVIRON)) and "missing" not in line
    ]
    assert counts.split(" | ")[1:6] == ["2", "0", "0", "1", "1"], counts
    assert not any("preempted its job" in line for line in lines), "it is not among the failed"


def test_nodes_that_slurm_had_taken_out_are_listed_with_its_reason(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    (tree.path / "env" / "nodes.json").write_text(json.dumps(NODES))
    bundle_data = read_tree(tree)
    (row,) = [line for line in texts(launches.build_section(bundle_data)) if "bad DIMM" in line]
    node, state, reason = row.split(" | ")
    assert node.startswith("node-")
    assert (state, reason) == ("drained", "bad DIMM")
    bundle_data.env_records["pairs.json"] = {}  # the section on nodes lists them then
    assert not any("bad DIMM" in line for line in texts(launches.build_section(bundle_data)))


def test_launches_of_emulated_nodes_say_so_where_they_are_listed(make_tree: Maker) -> None:
    extras = {"emulated": {"nodes": "namespaces of one machine"}}
    tree = make_tree(launches=5, environs=(ENVIRON,), extras=extras)
    tree.fail_launch(2, ENVIRON, fail_reason="killed")
    lines = texts(launches.build_section(read_tree(tree)))
    rows = [line for line in lines if ENVIRON in line and " | " in line]
    causes = [line for line in rows if "killed" in line or "missing" in line or "load" in line]
    assert len(causes) >= 3, "one failed, one missing, one disturbed"
    assert all("EMULATED NODES" in line for line in rows)


def noise_rows(section_part: ReportSection) -> list[list[str]]:
    return [[cell.text for cell in row] for row in find_table(section_part, "Noise in").rows]


def test_spreads_and_a_better_plan_are_shown_and_too_few_launches_get_none(
    make_tree: Maker,
) -> None:
    """Launches of the tree are bimodal by 2.5; samples in them have 3 % of noise."""
    tree = make_tree(launches=20, samples=40, environs=(ENVIRON,))
    section_part = launches.build_section(read_tree(tree))
    latency = next(row for row in noise_rows(section_part) if "1 B" in row[2])
    in_launch, between_launches = (
        float(text.rstrip("% \N{NO-BREAK SPACE}")) for text in latency[4:6]
    )
    assert 0.3 < in_launch < 3 < 20 < between_launches < 80
    count, before = latency[6].split(" of ")[0], float(latency[6].split(": ")[1][:-2])
    better_count, after = latency[7].split(" of ")[0], float(latency[7].split(": ")[1][:-2])
    assert int(better_count) > int(count) == 20
    assert after < before
    assert float(latency[8]) < 0.05, "two groups of launches are not normal"
    (remarks,) = [block for block in section_part.blocks if isinstance(block, BulletList)]
    assert "The next launch may have another median" in str(remarks.items)
    few = launches.build_section(read_tree(make_tree("few", launches=6, environs=(ENVIRON,))))
    assert {row[7] for row in noise_rows(few)} == {"\N{EN DASH}"}


def test_cases_that_were_skipped_for_one_reason_are_one_line(make_tree: Maker) -> None:
    reasons = ["no such toolchain", "one node", "no such toolchain"]
    skipped = [{"case": f"Ring/@local:smp+{n}", "reason": why} for n, why in enumerate(reasons)]
    data = read_tree(make_tree(launches=6, environs=(ENVIRON,), skipped=skipped))
    counts, lost = (launches.build_section(data).tables)[:2]
    assert counts.caption == "Every case of the campaign except 3 skipped cases, listed below."
    assert len(counts.rows) == 1 and not counts.rows[0][0].text.startswith("Ring")
    assert [[cell.text for cell in row] for row in lost.rows] == [
        ["2 cases", "skipped", "no such toolchain", "skipped/0001 and 1 more"],
        ["Ring/@local:smp+1", "skipped", "one node", "skipped/0002"],
    ]
    assert "“roundtrip run --dry-run” list them" in lost.caption
