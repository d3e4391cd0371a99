"""The ring section claims no more than was measured: its words, and what stands behind them."""

from dataclasses import replace
from typing import Any

from support.measured import find_table, study_section
from support.ring import (
    SIZES,
    TRANSPORT_COSTS,
    answer_texts,
    panel_answer_text,
    ring_data,
    triple_time_at_10_kb,
)

from roundtrip.content import labels
from roundtrip.content.blocks import ReportSection
from roundtrip.report.painter import svg_files

NETWORK = {name: TRANSPORT_COSTS[name] for name in ("region", "mpi", "mpi-sync", "mpi-typed")}
WITH_UDP = {**NETWORK, "region-udp": (0.2e-6, 1e-10)}
UNEVEN = {10: 1.0, 1_000: 2.0, 10_000: 4.0, 1_000_000: 8.0}


def crossovers(section: ReportSection) -> dict[tuple[str, str], str]:
    rows = find_table(section, "The size in bytes from which").rows
    return {(row[1].text, row[2].text): row[3].text for row in rows}


def texts(section: ReportSection) -> list[str]:
    cells = [cell.text for table in section.tables for row in table.rows for cell in row]
    return [*cells, panel_answer_text(section)]


def test_a_simulated_ring_is_said_to_prove_nothing() -> None:
    truth = {"mpi": TRANSPORT_COSTS["mpi"]}
    data = ring_data(truth, launches=1, case="1+1", placement="one-per-node")
    section = study_section(replace(data, launches=data.launches.with_columns(simulated=True)))
    assert [answer.text for answer in section.answers] == [(labels.ONLY_SIMULATED_NOTE,)]


def test_nothing_goes_by_reference_between_nodes() -> None:
    section = study_section(ring_data(WITH_UDP, case="1+1"))
    assert not [text for text in texts(section) if "by reference" in text]
    starts = ("The size in bytes", "A pass of a region inside")
    assert not [t for t in section.tables if t.caption.startswith(starts)]
    assert not [answer for answer in answer_texts(section) if answer.startswith("In a node")]
    for svg in (next(svg_files(each)) for each in section.figures[:2]):
        assert "Region by MPI" in svg and "Region by UDP" in svg
    assert not [figure for figure in section.figures if "by reference" in next(svg_files(figure))]


def test_a_hybrid_ring_says_which_way_goes_where() -> None:
    sizes = crossovers(study_section(ring_data(WITH_UDP, case="2+1")))
    by_mpi, by_udp = "by MPI's messages between", "by UDP between"
    assert sizes == {
        (f"Region by reference in a node and {way}", transport): text
        for way, text in ((by_mpi, "10.0 [10.0,\xa010.0]"), (by_udp, "10.0 [10.0,\xa010.0]"))
        for transport in ("MPI two-sided", "MPI two-sided, datatype", "MPI synchronous")
    }


def test_the_launch_itself_says_whether_a_pass_stays_in_a_node() -> None:
    # Ranks of two nodes in turn: no neighbour is on the same.
    details: dict[str, Any] = {"passes_per_lap": {"shared": 0, "network": 4}}
    section = study_section(ring_data(NETWORK, case="2+2", details=details))
    assert not [text for text in texts(section) if "by reference" in text]
    assert crossovers(study_section(ring_data(NETWORK, case="pretended 2+2")))


def test_the_answer_and_the_table_have_one_fixed_cost() -> None:
    section = study_section(ring_data(TRANSPORT_COSTS, change=lambda _, name, size: UNEVEN[size]))
    _, row = find_table(section, "A pass of a region inside a node").rows
    assert 0.54 < float(row[1].text.split()[0]) < 0.61  # of 0.18 x (1, 2, 4, 8): the middle is 3
    answer = f"is passed in {row[1].text}\xa0µs, the median over its sizes from 10"
    assert answer in panel_answer_text(section)


def test_the_answer_names_the_sizes_it_is_flat_over(section: ReportSection) -> None:
    prefix, ratio = (
        "µs whatever its size from 10\xa0B to ",
        "largest over smallest in bare hand-overs",
    )
    assert f"{prefix}1\xa0MB ({ratio} 1.0" in panel_answer_text(section)
    data = ring_data(
        TRANSPORT_COSTS, change=lambda i, _, size: None if (i, size) == (3, SIZES[-1]) else 1
    )
    assert f"{prefix}10\xa0kB (" in panel_answer_text(study_section(data))
    text = panel_answer_text(study_section(ring_data(TRANSPORT_COSTS, launches=5)))
    assert "whatever its size" not in text
    assert "the median over its sizes from 10\xa0B to 1\xa0MB" in text


def test_the_answer_is_of_flatness_in_hand_overs_where_there_is_one() -> None:
    text = panel_answer_text(study_section(ring_data(TRANSPORT_COSTS, change=triple_time_at_10_kb)))
    assert "µs, the median over its sizes from 10\xa0B to 1\xa0MB, and in the same number" in text
    assert "number of bare hand-overs at each (largest over smallest in bare hand-overs 1.0" in text
    variants = {name: truth for name, truth in TRANSPORT_COSTS.items() if name != "cache-line"}
    time_text = panel_answer_text(study_section(ring_data(variants, change=triple_time_at_10_kb)))
    assert "the median over its sizes" in time_text and "(largest over smallest 3.0" in time_text
    assert "hand-overs" not in time_text


def test_the_answer_says_what_is_gained_and_what_holds(section: ReportSection) -> None:
    assert panel_answer_text(section).startswith(
        "Open MPI, 2 ranks in one node: a region is passed in 0.1"
    )
    gain, reasons = panel_answer_text(section).split("; ", 1)[1].split("; ", 1)
    start, end = "a region by reference has ", " times the effective bandwidth of the best "
    assert gain.startswith(start) and 12 < float(gain.removeprefix(start).split()[0]) < 13
    assert gain.endswith(f"{end}two-sided MPI at 10\xa0kB")
    assert reasons == (
        "copying costs (mpi-shm): holds; control messages cost (mpi-sync): holds in part; "
        "type processing costs (mpi-typed): does not hold."
    )
    assert section.panel_answers[0].status_colour == "warn"  # one of the reasons holds in part
    udp = panel_answer_text(study_section(ring_data(WITH_UDP, case="1+1")))
    assert "a region by MPI's messages has 12" in udp and ", a region by UDP has 1.9" in udp
    region_section = study_section(ring_data({"region": TRANSPORT_COSTS["region"]}))
    assert panel_answer_text(region_section).endswith("; no reason of the study could be tested.")
    last_answers = region_section.panel_answers[0], region_section.answers[-1]
    assert [answer.status_colour for answer in last_answers] == ["warn", "warn"]
    timing, gain_line, *reason_lines = answer_texts(section)
    assert timing.startswith("In a node a region is passed in 0.1") and timing.endswith(" size.")
    assert gain_line.startswith("A region has 12")
    assert gain_line.endswith("best two-sided MPI at 10\xa0kB.")
    assert reason_lines == [
        "“copying costs” (elepar's study, 2002): holds.",
        "“control messages cost” (elepar's study, 2002): holds in part.",
        "“type processing costs” (elepar's study, 2002): does not hold.",
    ]
    top_text = "".join(answer_texts(study_section(ring_data(TRANSPORT_COSTS, launches=5))))
    assert "whatever its size" not in top_text and "(median over its sizes)" in top_text


def test_a_reason_holds_only_at_the_sizes_measured() -> None:
    def change(_: int, variant: str, size: int) -> float | None:
        return None if (variant, size) == ("mpi-shm", SIZES[-1]) else 1

    (verdicts,) = study_section(ring_data(TRANSPORT_COSTS, change=change)).verdict_tables
    assert [(cell.verdict, cell.status_colour) for cell in verdicts.rows[0][1:4]] == [
        ("holds where measured (10\xa0B to 10\xa0kB)", "warn"),
        ("holds in part", "warn"),
        ("does not hold", "plain"),
    ]


def odd_launches_are_slow(*gaps: tuple[int, str]) -> Any:
    return lambda i, name, _: None if (i, name) in gaps else (1, 100)[i % 2]


def test_launches_are_paired_by_name_and_counted() -> None:
    change = odd_launches_are_slow((0, "mpi"), (1, "region"), (2, "cache-line"))
    section = study_section(ring_data(TRANSPORT_COSTS, change=change))
    names = ("Region by reference", "MPI two-sided")
    assert crossovers(section)[names] == "10.0 [10.0,\xa010.0]; measured in 8 of 10 launches"
    _, row = find_table(section, "A pass of a region inside a node").rows
    assert row[1].text.endswith("; measured in 9 of 10 launches")
    assert row[3].text.startswith("1.8")
    assert row[3].text.endswith("; measured in 8 of 10 launches")


def test_a_size_from_which_on_it_is_never_faster() -> None:
    def crossover(first_slow: int) -> str:
        def change(launch: int, name: str, _: int) -> float:
            return 1e6 if name == "region" and launch >= first_slow else 1

        section = study_section(ring_data(TRANSPORT_COSTS, change=change))
        return crossovers(section)["Region by reference", "MPI two-sided"]

    assert crossover(0) == "not up to 1\xa0MB"
    assert crossover(4) == "in 4 of 10 launches, else not up to 1\xa0MB"


def test_percentiles_are_of_a_pass() -> None:
    wait = {"spins": 7, "yields": 3, "network_yields_ms": 9, "then": "futex"}
    point = {"case": "2", "variant": "region", "size_bytes": 10, "batch": 600, "samples": 6}
    truth = {"region": (0.18e-6, 0.0), "mpi": (1e-6, 1e-9)}
    data = ring_data(truth, details={"wait": wait, "skipped": []}, points=(point,))
    percentiles = find_table(study_section(data), "Open MPI, 2 ranks in one node: µs a pass")
    assert "a lap is 2 passes" in percentiles.caption
    assert percentiles.caption.endswith(
        "A rank that waits for a region polls 7 times, then yields the processor 3 times, then "
        "sleeps in the kernel (futex)."
    )
    assert [row[1].text for row in percentiles.rows] == ["10\xa0B", "1\xa0kB", "1\xa0MB"] * 2
    region, *_, slowest = percentiles.rows
    assert region[-1].text == "600"
    assert all(0.18 <= float(cell.text) < 0.21 for cell in region[3:7])  # laps are of two passes
    assert all(1000 < float(cell.text.replace("\u202f", "")) < 1115 for cell in slowest[3:7])


def test_waiting_over_a_network_shows_its_time() -> None:
    wait = {"spins": 7, "yields": 3, "network_yields_ms": 9, "then": "poll"}
    data = ring_data(NETWORK, case="2+1", details={"wait": wait})
    start = "Open MPI, 2 ranks in one node: µs a pass; a lap is 3"
    caption = find_table(study_section(data), start).caption
    assert "in turn for 9 ms, then sleeps until data arrive (poll)." in caption
    assert "polls 7 times" not in caption


def test_what_a_launch_left_out_is_listed_with_the_reason() -> None:
    skips = [
        {"variant": "cache-line", "reason": "they are 1+1"},
        {"variant": "mpi-shm", "reason": "they are 1+1"},
        {"variant": "mpi-rma", "reason": "no windows"},
    ]
    point = {"case": "1+1", "variant": "mpi", "size_bytes": 10_000, "samples": 0}
    points = ({**point, "status": "bounded"},)
    data = ring_data(NETWORK, case="1+1", details={"skipped": skips}, points=points)
    rows = find_table(study_section(data), "Transports that were left out").rows
    assert [tuple(cell.text for cell in row[1:]) for row in rows] == [
        ("MPI shared window, one copy; Bare cache line", "they are 1+1", "10 of 10"),
        ("MPI one-sided", "no windows", "10 of 10"),
        ("MPI two-sided", "not measured from 10\xa0kB on: bounded", "10 of 10"),
    ]
    for nothing in ({"skipped": []}, None):
        tables = study_section(ring_data(TRANSPORT_COSTS, details=nothing)).tables
        assert not [t for t in tables if t.caption.startswith("Transports that were left out")]
