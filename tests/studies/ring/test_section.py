"""The ring section says what is in the data: rings whose truth is known."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeGuard

import polars as pl
from support.ring import (
    SIZES,
    TRUTH,
    answer,
    part,
    processors_move_apart,
    ring_data,
    table,
    tables,
)

from roundtrip import studies
from roundtrip.report.blocks import Gallery, Table
from roundtrip.report.painter import drawing


def test_the_three_reasons_follow_the_data() -> None:
    (verdicts,) = part(ring_data(TRUTH)).verdicts
    (row,) = verdicts.rows
    assert [cell.verdict for cell in row[1:4]] == ["holds", "holds in part", "does not hold"]
    assert row[4].text == "not measured"  # PVM was not in the ring


def test_a_region_that_is_read_stands_beside_messages_that_are_read() -> None:
    reading = {"region-read": (0.2e-6, 4e-10), "mpi-read": (0.3e-6, 6e-10)}
    made = part(ring_data(TRUTH | reading))
    rows = {row[1].text: row for row in table(made, "Effective bandwidth in MB/s when").rows}
    read = rows["Region over MPI two-sided, all read"]
    assert [round(float(cell.text.split()[0]), 1) for cell in read[2:]] == [1.5] * 4
    nobody = rows["Region over MPI two-sided, nobody reads"]
    assert float(nobody[-1].text.partition(" [")[0].replace("\u202f", "")) > 1000
    assert re.search(r"with every byte read 1\.[45]\d \[", answer(made))
    without = part(ring_data(TRUTH))
    assert not [t for t in tables(without.blocks) if "when every byte is read" in t.caption]


def test_the_axis_ends_where_nothing_physical_is_meant() -> None:
    """A region of 1 MB in 0.18 µs would be 5.5 TB/s; one copy takes 10 GB/s at most."""
    (drawn,) = [block.figures[0] for block in part(ring_data(TRUTH)).blocks if is_gallery(block)]
    svg = drawing(drawn)
    assert ">10\u202f000<" in svg and "100\u202f000" not in svg and "1e+" not in svg
    assert "Region by reference ↑" in svg and "MPI two-sided ↑" not in svg


def is_gallery(block: object) -> TypeGuard[Gallery]:
    return isinstance(block, Gallery)


def test_too_few_launches_settle_nothing() -> None:
    (verdicts,) = part(ring_data(TRUTH, launches=5)).verdicts
    assert [cell.verdict for cell in verdicts.rows[0][1:4]] == ["cannot tell"] * 3


def test_goals_are_judged_by_their_intervals() -> None:
    study, ours = table(part(ring_data(TRUTH)), "A region's pass inside a node").rows
    assert study[1].text == "2.80"
    assert [cell.verdict for cell in ours[3:7]] == ["reached"] * 4
    slow = {**TRUTH, "region": (0.3e-6, 3e-12), "mpi": (0.3e-6, 1e-11), "mpi-typed": (0.4e-6, 0)}
    _, ours = table(part(ring_data(slow)), "A region's pass inside a node").rows
    assert [cell.verdict for cell in ours[3:7]] == ["not reached"] * 4


def test_flatness_in_hand_overs_stands_beside_that_in_time() -> None:
    shown = table(part(ring_data(TRUTH, change=processors_move_apart)), "A region's pass inside")
    named = dict(zip((column.name for column in shown.columns), shown.rows[1], strict=True))
    in_time, in_hand_overs = (named[f"Largest / smallest{of}"] for of in ("", ", in hand-overs"))
    assert (in_time.text[:3], in_time.verdict) == ("3.0", "not reached")
    assert (in_hand_overs.text[:3], in_hand_overs.verdict) == ("1.0", "reached")


def test_flatness_in_hand_overs_needs_the_bare_line_at_every_size() -> None:
    def change(launch: int, variant: str, size: int) -> float | None:
        return None if (launch, variant, size) == (3, "cache-line", SIZES[-1]) else 1

    _, ours = table(part(ring_data(TRUTH, change=change)), "A region's pass inside").rows
    assert not ours[4].text.endswith("launches")
    assert ours[5].text.endswith("; measured in 9 of 10 launches")


def test_a_ring_over_a_network_has_no_goals_of_shared_memory() -> None:
    truth = {name: TRUTH[name] for name in ("region", "mpi", "mpi-sync", "mpi-typed")}
    made = part(ring_data(truth, case="1+1"))
    captions = [b.caption for b in made.blocks if isinstance(b, Table)]
    assert not any(caption.startswith("A region's pass inside") for caption in captions)


def test_the_crossover_with_what_is_slower_everywhere_is_the_smallest_size() -> None:
    rows = table(part(ring_data(TRUTH)), "The size in bytes from which").rows
    assert {row[2].text: row[3].text.split(" ")[0] for row in rows}["MPI two-sided"] == "10.0"


def test_the_figure_shows_the_study_beside_the_same_placement_only() -> None:
    def drawn(case: str) -> str:
        figures = [g for g in part(ring_data(TRUTH, case=case)).blocks if hasattr(g, "figures")]
        return drawing(figures[0].figures[0])

    assert "The study, 2002" in drawn("2")
    assert "The study, 2002" not in drawn("2+1")


def test_a_bundle_without_rings_has_no_section() -> None:
    data = ring_data(TRUTH)
    empty = replace(data, launches=data.launches.filter(pl.lit(False)))
    assert studies.get("ring").section(empty) is None


def test_goodput_on_a_hub_is_a_share_of_what_the_wire_can_carry() -> None:
    wire = 0.8e-6  # seconds a byte at 10 Mbit/s
    truth = {
        "region-udp": (150 * wire, wire),
        "mpi": (400e-6, wire),
        "pvm": (600e-6, wire),
        "pvm-xdr": (700e-6, wire),
    }
    data = ring_data(truth, case="1+1", emulated={"hub_mbit_s": 10})
    shown = table(part(data), "Goodput at 1\xa0kB")
    most, region, mpi, *pvm = shown.rows
    assert (most[1].text, most[2].text) == ("What the wire can carry", "1.17")
    assert [row[1].text for row in pvm] == ["PVM, raw", "PVM, XDR"]
    assert (region[-1].tone, region[-1].verdict) == ("bad", "not reached")
    assert 0.6 < float(mpi[-1].text.split()[0]) < 0.75
    quick = ring_data({"region-udp": (-5 * wire, wire)}, case="1+1", emulated={"hub_mbit_s": 10})
    _, region = table(part(quick), "Goodput at 1\xa0kB").rows
    assert region[-1].verdict == "reached"
