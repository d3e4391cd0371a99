"""Outputs of OSU Micro-Benchmarks 5.3 to 7.5: recorded, damaged and hostile."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundtrip.errors import UserError
from roundtrip.measure import records, samples
from roundtrip.studies.osu import output as osu_output
from roundtrip.studies.osu.derived import BENCHMARKS

DATA = Path(__file__).parents[2] / "data" / "osu"
WRONG = {"osu_allreduce.74.openmpi.failed-validation.txt", "osu_barrier.59.openmpi.validation.txt"}
GOOD = sorted(file.name for file in DATA.glob("*.txt") if ".help." not in file.name)
GOOD = [name for name in GOOD if name not in WRONG]
LATENCY = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n"


def parse(name: str) -> osu_output.OSUOutput:
    return osu_output.parse_output(DATA / name, name.split(".")[0].removeprefix("osu_"))


@pytest.mark.parametrize("name", GOOD)
def test_every_recorded_output_is_read_whole(name: str) -> None:
    """Against a reading of its own: the lines that begin with a number, cell by cell."""
    output = parse(name)
    assert output.version.replace(".", "") == name.split(".")[1]
    lines = [line.split() for line in (DATA / name).read_text().splitlines()]
    rows = [cells for cells in lines if cells and cells[0][0].isdigit()]
    assert len(output.rows) == len(rows) > 0
    has_size = output.benchmark.name != "barrier"
    for row, cells in zip(output.rows, rows, strict=True):
        assert row.size_bytes == (int(cells[0]) if has_size else 0)
        value = row.values["average", output.benchmark.metric]
        scale = 1 if output.benchmark.metric == "bandwidth" else 1e6
        assert value * scale == pytest.approx(float(cells[has_size]))
        cell_count = len(row.values) + has_size
        cell_count += sum(x is not None for x in (row.iterations, row.passed, row.sent_bytes))
        assert cell_count == len(cells)


def test_every_benchmark_is_among_the_recorded_in_three_versions() -> None:
    versions = {tuple(name.removeprefix("osu_").split(".")[:2]) for name in GOOD}
    for name in BENCHMARKS:
        assert {version for bench, version in versions if bench == name} >= {"53", "59", "74"}


def test_columns_are_found_by_name_not_by_place() -> None:
    row = parse("osu_allreduce.74.openmpi.fcz.txt").rows[0]
    assert row.passed is True
    assert row.iterations == 20
    statistics = {"average", "minimum", "maximum", "p50", "p90", "p99"}
    assert {statistic for statistic, _ in row.values} == statistics
    last_row = parse("osu_mbw_mr.74.openmpi.taillat.txt").rows[-1]
    assert {("average", "message_rate"), ("p99", "bandwidth")} < set(last_row.values)
    assert parse("osu_latency.75.mpich.ddt.txt").rows[0].sent_bytes == 32


def test_notes_say_what_was_sent_and_how() -> None:
    notes = parse("osu_put_latency.74.openmpi.txt").notes
    assert notes == {
        "Window creation": "MPI_Win_allocate",
        "Synchronization": "MPI_Win_flush",
        "Datatype": "MPI_CHAR",
    }


def test_a_failed_validation_names_its_size() -> None:
    name = "osu_allreduce.74.openmpi.failed-validation.txt"
    with pytest.raises(UserError, match="validation failed at 16 bytes") as error:
        parse(name)
    assert error.value.line == 9


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "empty"),
        ("\n\n", None, "empty"),
        ("\xff\x00\n", None, "not an output of OSU"),  # no ASCII
        (LATENCY.replace("v5.9", "v8.0"), 1, r"version 8\.0 .* right are 5\.x to 7\.x"),
        (LATENCY.replace("v5.9", "v4.4"), 1, r"version 4\.4 "),
        (LATENCY.replace("Latency Test", "Bandwidth Test"), 1, "right is: Latency Test"),
        ("mpirun: command not found\n", 1, "is not a title of OSU's; right is: # OSU MPI Latency"),
        (LATENCY, 2, "ends before the first value: truncated"),
        (LATENCY + "1  0.3", 3, "the last line has no end: truncated"),
        (LATENCY + "1  0.3\n4  0.3\n", 4, "size 4 after 1: a line is missing"),
        (LATENCY + "1  0.3\n2  0.3\n", 4, "ends at 2 bytes, before 4: truncated"),
        (LATENCY + "1  0.3\n2\n", 4, "'2' is not the 2 values of a line"),
        (LATENCY + "1  0.3\n2  0.3  Pass\n", 4, "is not the 2 values"),
        (LATENCY + "1  0.3\nAssertion failed in file mpid.c\n", 4, "'Assertion failed"),
        (LATENCY + "1  nan\n", 3, "'nan' is not a number >= 0"),
        (LATENCY + "1  -0.3\n", 3, "'-0.3' is not a number >= 0"),
        (LATENCY + "1.5  0.3\n", 3, "'1.5' is not a whole number"),
        (LATENCY + "1  0.3\n" + LATENCY, 4, "not a line of OSU's"),
        (LATENCY.replace("(us)", "(ms)") + "1  0.3\n", 2, r"unknown column 'Latency \(ms\)'"),
        (LATENCY.replace("Latency (us)", "MB/s") + "1  0.3\n", 3, "does not have"),
        (LATENCY.replace("(us)", "(us)  Validation") + "1 0.3 Maybe\n", 3, "right are: Pass, Fail"),
        ("# OSU MPI Latency Test v5.9\n1  0.3\n", 2, "before the header"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(
    tmp_path: Path, text: str, line: int | None, reason: str
) -> None:
    file = tmp_path / "osu.txt"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=reason) as error:
        osu_output.parse_output(file, "latency", max_bytes=4)
    assert error.value.line == line
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(file))


@pytest.mark.parametrize("name", ["osu_latency.59.openmpi.txt", "osu_mbw_mr.74.openmpi.txt"])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_an_output_cut_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    content = (DATA / name).read_bytes()
    length = data.draw(st.integers(0, len(content) - 1))
    file = tmp_path_factory.getbasetemp() / "cut.txt"
    file.write_bytes(content[:length])
    with pytest.raises(UserError):
        osu_output.parse_output(file, name.split(".")[0].removeprefix("osu_"), max_bytes=4 << 20)


def test_convert_writes_a_launch_that_the_scanner_reads(tmp_path: Path) -> None:
    output = parse("osu_mbw_mr.74.openmpi.taillat.txt")
    (tmp_path / osu_output.MEASUREMENT_FILE).write_text("")
    command = ["osu_mbw_mr", "-z"]
    osu_output.convert_output(
        tmp_path, output, validated=True, command=command, ranks=2, hosts=["n1"]
    )
    run = records.read_record(tmp_path / "run.json")
    sample_file = samples.read(tmp_path / "samples.csv")
    assert sample_file.faults == ()
    assert sample_file.metadata["datatype"] == "MPI_CHAR"
    assert run["samples"]["rows"] == sample_file.frame.height == 5 * len(output.rows)
    assert json.dumps(run["hosts"]) == '["n1"]'
    assert all(point["verified"] for point in run["points"])
    assert set(sample_file.frame["unit"]) == {"MB/s", "1/s"}
