"""Reading of samples.csv, and its seal."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from measure.conftest import ENVIRON
from support.bundles import read_tree
from support.json_files import content
from support.synthetic import SyntheticTree

from roundtrip import files
from roundtrip.history import night_rows
from roundtrip.measure import bundle_rows, samples
from roundtrip.measure.bundle_rows import MEDIANS_SCHEMA, SAMPLES_SCHEMA
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.run_record import Seal
from roundtrip.model import json_schema
from roundtrip.report.sections import launches
from roundtrip.studies.netpipe import output as netpipe_output

GOOD = b"netpipe,pingpong/same,mpi,1,measure,0,half_round_trip_time,2.5e-07,s"
HEAD = b"# schema: 1\n" + samples.CSV_HEADER.encode() + b"\n"


def read(tmp_path: Path, content: bytes) -> samples.Samples:
    file = tmp_path / "samples.csv"
    return samples.parse(content, file)


def with_value(value: bytes) -> bytes:
    return GOOD.replace(b"2.5e-07", value)


def test_a_good_file(tmp_path: Path) -> None:
    result = read(tmp_path, b'# schema: 1\n# who: "me"\n' + HEAD[12:] + GOOD + b"\n")
    assert result.faults == ()
    assert result.metadata == {"schema": 1, "who": "me"}
    assert result.frame.row(0) == (
        *("netpipe", "pingpong/same", "mpi", 1, "measure", 0),
        *("half_round_trip_time", 2.5e-07, "s"),
    )
    assert dict(result.frame.schema) == samples.CSV_SCHEMA


@pytest.mark.parametrize(
    ("bad_row", "reason"),
    [
        (GOOD.replace(b"mpi", b"m\0i"), "a NUL byte"),
        (GOOD.replace(b"mpi", b"m\xe9i"), "byte 0xe9 is not UTF-8"),
        (samples.CSV_HEADER.encode(), "a second header"),
        (GOOD[:-1] + b"us", "unit 'us'; right is 's'"),
        (GOOD + b",more", "10 columns instead of 9"),
        (GOOD[:-2], "8 columns instead of 9"),
        (b"", "1 columns instead of 9"),
        (b"# late: 1", "1 columns instead of 9"),
        (with_value(b"-1e-6"), "value '-1e-6' is not a positive number"),
        (with_value(b"0"), "value '0' is not a positive number"),
        (with_value(b"nan"), "value 'nan' is not a positive number"),
        (with_value(b"inf"), "value 'inf' is not a positive number"),
        (with_value(b"1e400"), "value '1e400' is not a positive number"),
        (with_value(b"1_0"), "value '1_0' is not a positive number"),
        (with_value(b""), "value '' is not a positive number"),
        (GOOD.replace(b",1,", b",-1,"), "size_bytes '-1' is not a whole number >= 0"),
        (GOOD.replace(b",1,", b",1.5,"), "size_bytes '1.5' is not a whole number >= 0"),
        (GOOD.replace(b",1,", b",9223372036854775808,"), "size_bytes '9223372036854775808' is"),
        (GOOD.replace(b",0,", b",x,"), "rep 'x' is not a whole number >= 0"),
        (GOOD.replace(b",mpi,", b",,"), "variant is empty"),
        (GOOD.replace(b"half_round", b"whole_round"), "unknown metric 'whole_round_trip_time'"),
        (
            GOOD.replace(b"half_round_trip", b"epoch"),
            "study netpipe declares no metric 'epoch",
        ),
        (b'"' + GOOD, "unexpected end of data"),
        (with_value(b"1e-16"), "value '1e-16' is not a positive number"),
        (with_value(b" 1"), "value ' 1' is not a positive number"),
        (GOOD.replace(b",0,", b",00,"), "rep '00' is not a whole number >= 0"),
        (GOOD.replace(b"mpi", b"x" * 201), "variant is not printable text of up to 200"),
        (GOOD.replace(b"mpi", b"\xef\xbb\xbfmpi"), "variant is not printable text of up to 200"),
    ],
)
def test_one_bad_row_among_good_ones(tmp_path: Path, bad_row: bytes, reason: str) -> None:
    result = read(tmp_path, HEAD + GOOD + b"\n" + bad_row + b"\n" + GOOD + b"\n")
    assert result.frame.height == 2
    assert [problem.line for problem in result.faults] == [4]
    assert result.faults[0].message.startswith(reason)
    assert str(result.faults[0]).startswith(f"{tmp_path}/samples.csv:4: ")


def test_a_truncated_file_loses_its_last_line(tmp_path: Path) -> None:
    result = read(tmp_path, HEAD + GOOD + b"\n" + with_value(b"2.5")[:-2])
    assert result.frame.height == 1
    assert result.faults[0].message == "the last line has no end: truncated"
    assert result.faults[0].line == 4


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b"\n\n", "empty file"),
        (b"# schema: 1\n", "no header"),
        (b"# schema: 1", "ends before the header: truncated"),
        (GOOD + b"\n", "no header"),
        (b"# schema: {\n" + HEAD + GOOD + b"\n", "not metadata; right is: # key: JSON value"),
        (b"# \xff: 1\n" + HEAD + GOOD + b"\n", "not metadata"),
        (HEAD, "no good row"),
        (HEAD[:-1], "no good row"),
        (b"\x89PNG\r\n\x1a\n\0\0", "no header"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, content: bytes, reason: str) -> None:
    assert read(tmp_path, content).faults[0].message.startswith(reason)


def test_windows_line_ends_and_quotes_are_read(tmp_path: Path) -> None:
    quoted_row = GOOD.replace(b"pingpong/same", b'"ping,pong"')
    result = read(tmp_path, HEAD.replace(b"\n", b"\r\n") + GOOD + b"\r\n" + quoted_row + b"\r\n")
    assert result.faults == ()
    assert result.frame["case"].to_list() == ["pingpong/same", "ping,pong"]


#: Pieces of rows, good and bad, of which any order may be tried.
pieces = st.sampled_from(
    [
        *(GOOD + b"\n", GOOD.replace(b"mpi", "ü\u2028".encode()) + b"\n"),
        *(b",", b"\n", b"\r\n", b"\r"),
        *(b" ", b"#", b"1", b"0", b"e5", b"1E+05", b"e-", b".", b"+", b"-", b"_", b"inf", b"nan"),
        *(b"0x1", "\u0661".encode(), b"9007199254740993", b"1e-16", b"0" * 30, b"1" * 30),
        *(b"half_round_trip_time", b"bandwidth", b"MB/s", b"s", b"mpi", b"\xef\xbb\xbf", b"\xff"),
        *(b"\xed\xa0\x80", b"\x00", b"\x1f", b"\x7f", b"\xc2\x85", b"x" * 200, b"\xf0\x9f\x98\x80"),
    ]
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Good rows, of which some have had a piece put in, or in the place of a field."""
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        size, rep = draw(st.integers(0, 2**53)), draw(st.integers(0, 10**6))
        row = f"netpipe,<ÜBUNG>,mpi,{size},measure,{rep},time_per_message,"
        fields = f"{row}{draw(st.floats(1e-15, 1e15))!r},s".encode().split(b",")
        for _ in range(draw(st.integers(0, 2))):
            position, piece = draw(st.integers(0, len(fields) - 1)), draw(pieces)
            fields[position] = draw(
                st.sampled_from([piece, fields[position] + piece, piece + fields[position]])
            )
        lines.append(b",".join(fields))
    return b"\n".join(lines) + draw(st.sampled_from([b"\n", b"\n", b"\r\n", b""]))


@settings(max_examples=300, deadline=None)
@example(b"netpipe\r" + GOOD.removeprefix(b"netpipe") + b"\n")
@given(bodies())
def test_the_fast_and_the_slow_path_accept_the_same_language(body: bytes) -> None:
    fast_frame = samples._parse_fast(body)
    slow_frame, problems = samples._parse_lines(body, 1, Path("f"))
    assert (fast_frame is not None) == (not problems)
    assert not (slow_frame["value"] <= 0).any()
    if fast_frame is not None:
        assert fast_frame.equals(slow_frame)


SERIES = "pingpong/same mpi 1 B measure half_round_trip_time"
Lines = list[str]


def rewritten(tree: Any, change: Callable[[Lines], Lines], sealed: bool = True) -> tuple[str, str]:
    """Status and reason of the launch of a tree after a change of its rows."""
    folder = tree.launch_folder(1, ENVIRON)
    lines = (folder / "samples.csv").read_text().splitlines(keepends=True)
    (folder / "samples.csv").write_text("".join(lines[:3] + change(lines[3:])))
    if not sealed:
        unseal(folder)
    (launch,) = scan_launches(tree.path)
    return launch.status, launch.reason


def unseal(folder: Path) -> None:
    """Make run.json that of a workload that did not seal."""
    with content(folder / "run.json") as run:
        run["samples"] = {"rows": run["samples"]["rows"]}


def scaled(rows: Lines) -> Lines:
    columns = rows[7].split(",")
    columns[7] = repr(float(columns[7]) * 1000)
    return [*rows[:7], ",".join(columns), *rows[8:]]


def swapped(rows: Lines) -> Lines:
    """Two values of one series, each in the place of the other."""
    first, second = rows[0].split(","), rows[1].split(",")
    first[7], second[7] = second[7], first[7]
    return [",".join(first), ",".join(second), *rows[2:]]


CHANGES: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "doubled": (lambda r: [r[0], *r], "samples.csv has 126 rows, run.json says 125"),
    "lost": (lambda r: r[1:], "samples.csv has 124 rows, run.json says 125"),
    "copied over another": (
        lambda r: [r[1], *r[1:]],
        f"samples.csv: rep of {SERIES} does not count 0, 1, 2, ...",
    ),
    "renamed": (
        lambda r: [r[0].replace(",mpi,", ",boost,"), *r[1:]],
        "samples.csv has 6 samples of pingpong/same boost 1 B",
    ),
    "moved to another size": (
        lambda r: [r[0].replace(",mpi,1,", ",mpi,64,"), *r[1:]],
        "samples.csv has 6 samples of pingpong/same mpi 64 B",
    ),
    "scaled": (scaled, "samples.csv is not the file that the workload wrote: its sha256 begins"),
    "swapped": (swapped, "samples.csv is not the file that the workload wrote"),
    "in another order": (lambda r: r[::-1], "does not count 0, 1, 2, ..."),
    "with other line ends": (
        lambda r: [line.replace("\n", "\r\n") for line in r],
        "samples.csv is not the file that the workload wrote",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_row_fails_its_launch(tree: SyntheticTree, name: str) -> None:
    change, fault = CHANGES[name]
    status, reason = rewritten(tree, change)
    assert status == "failed"
    assert fault in reason


def test_a_changed_head_fails_too(tree: SyntheticTree) -> None:
    file = tree.launch_folder(1, ENVIRON) / "samples.csv"
    file.write_text(file.read_text().replace('"netpipe"', '"netpipes"'))
    (launch,) = scan_launches(tree.path)
    assert "is not the file that the workload wrote" in launch.reason


@pytest.mark.parametrize("name", ["doubled", "lost", "copied over another", "in another order"])
def test_what_an_unsealed_launch_shows_even_so(tree: SyntheticTree, name: str) -> None:
    assert rewritten(tree, CHANGES[name][0], sealed=False)[0] == "failed"


def test_an_unsealed_launch_is_read_and_the_report_says_so(two_launches: SyntheticTree) -> None:
    sealed_data = read_tree(two_launches)
    assert sealed_data.launches["sealed"].to_list() == [True, True]
    assert "not sealed" not in repr(launches.build_section(sealed_data))
    unseal(two_launches.launch_folder(2, ENVIRON))
    mixed_data = read_tree(two_launches)
    assert mixed_data.launches["status"].to_list() == ["passed", "passed"]
    assert mixed_data.launches["sealed"].to_list() == [True, False]
    assert "1 launch of 2 is not sealed" in repr(launches.build_section(mixed_data))


def test_a_forged_digest_is_no_text(tree: SyntheticTree) -> None:
    for digest in ("", "A" * 64, "0" * 63, 7, None, "0" * 64 + "\n"):
        with content(tree.launch_folder(1, ENVIRON) / "run.json") as run:
            run["samples"]["sha256"] = digest
        (launch,) = scan_launches(tree.path)
        assert launch.reason.startswith("run.json:1: samples.sha256: ")


@pytest.mark.parametrize("keys", [("rows",), ("rows", "sha256"), ("rows", "counts")])
def test_a_part_of_a_seal_is_none(keys: tuple[str, ...]) -> None:
    seal = {"rows": 0, "sha256": "", "counts": []}
    assert samples.is_full_seal(seal)
    assert not samples.is_full_seal({key: seal[key] for key in keys})


def test_foreign_launches_are_sealed(tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    output_file = Path(__file__).parents[1] / "data" / "netpipe" / "NPmpich2-4.0.2.full.out"
    file.write_bytes(output_file.read_bytes())
    netpipe_output.convert_output(file, "NPmpich2", 2, hosts=[])
    csv = (tmp_path / "samples.csv").read_bytes()
    seal = json.loads((tmp_path / "run.json").read_text())["samples"]
    assert samples.is_full_seal(seal)
    assert samples.seal_mismatch(files.sha256(csv), samples.parse(csv, file).frame, seal) == ""


def test_the_key_of_a_series_is_declared_once() -> None:
    key = list(bundle_rows.SERIES_COLUMNS)
    assert [name for name in SAMPLES_SCHEMA if name in key] == key
    assert {*key} < {*MEDIANS_SCHEMA}
    assert [*night_rows.SERIES] == ["case_id", "study", *key, "unit"]
    counts = json_schema(Seal)["properties"]["counts"]["items"]["properties"]
    assert [*counts] == [*key, "samples"]
