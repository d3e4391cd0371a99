"""A damaged row of a log is set aside with its line, and costs no other row."""

import datetime
import time
import zoneinfo

import pytest

from roundtrip.history import perflog
from roundtrip.history.imported_nights import Reject

HEAD = (
    "job_completion_time|version|descr|display_name|system:partition+environ|jobid|result|"
    "env_vars|bw_value|bw_unit|bw_ref|bw_lower_thres|bw_upper_thres"
)


def row(value: object = 10.5, time: str = "2026-11-03T01:00:00+00:00", **overrides: str) -> str:
    fields = {"descr": "text", "name": "Check %p=1", "env": "{}", **overrides}
    place = "tulip:cpu+gcc"
    return (
        f"{time}|4.10.4|{fields['descr']}|{fields['name']}|{place}|77|pass|{fields['env']}|"
        f"{value}|MB/s|0|None|None"
    )


def parse(*lines: str, end: str = "\n") -> tuple[list[tuple[int, float]], list[Reject]]:
    parsed_file = perflog.parse(("\n".join(lines) + end).encode())
    return parsed_file.rows.select("line", "value").rows(), parsed_file.rejects


@pytest.mark.parametrize(
    ("bad_row", "reason"),
    [
        (row("x"), "bw is not a number: right is such as 1.5"),
        (row("nan"), "bw is not finite"),
        (row("-inf"), "bw is not finite"),
        (row(1, "yesterday"), perflog.NO_TIME),
        (row(1, "9999-01-01T00:00:00"), perflog.NO_TIME),
        (row(1, env='{"OMP": '), "broken JSON in column 8"),
        (row(1, name=""), "no name of the test, or not where it ran"),
        (row(1, name="x" * 1001), "a name that is too long"),
        (row(1) + "|1|2|3|4|5", "18 columns; the header has 13"),
        (row(1).rpartition("|")[0], "12 columns; the header has 13"),
        (row(1, name="Check\0"), "a NUL byte"),
        (row(1, name="Check\x1b[31m"), "a control character"),
        (row(1, name="Check\u2028"), "a control character"),
    ],
)
def test_a_damaged_row_is_set_aside(bad_row: str, reason: str) -> None:
    rows, rejects = parse(HEAD, row(1), bad_row, row(2))
    assert rows == [(2, 1), (4, 2)]
    assert rejects == [Reject(3, reason)]


def test_a_faulty_value_costs_no_other_value_of_its_row() -> None:
    head = f"{HEAD}|lat_value|lat_unit|err_value|err_unit"
    rows, rejects = parse(head, f"{row(1)}|nan|us|x|us", f"{row('inf')}|2|us|3|us")
    assert rows == [(2, 1), (3, 2), (3, 3)]
    reasons = ["lat is not finite", "err is not a number: right is such as 1.5", "bw is not finite"]
    assert rejects == [Reject(line, text) for line, text in zip((2, 2, 3), reasons, strict=True)]


def test_a_row_that_is_not_utf8_is_set_aside() -> None:
    lines = [HEAD.encode(), row(1).encode(), row(1, descr="Größe").encode("latin-1")]
    parsed_file = perflog.parse(b"\n".join([*lines, row(2).encode(), b""]))
    assert parsed_file.rows["line"].to_list() == [2, 4]
    assert parsed_file.rejects == [Reject(3, "not UTF-8 text")]


def test_a_last_line_without_its_end_is_cut_off() -> None:
    rows, rejects = parse(HEAD, row(1), row(12.75), end="")
    assert rows == [(2, 1)]
    assert rejects == [Reject(3, "cut off: the last line has no end")]


def test_a_header_may_change_and_come_again() -> None:
    old_header = "job_completion_time|info|perf_var|perf_value|perf_unit"
    line = "2026-11-03T01:00:00|Old %p=2 /0123abcd @tulip:cpu+gcc|lat|1.5|us"
    rows, rejects = parse(HEAD, row(1), old_header, line, HEAD, row(2), HEAD, row(3))
    assert rows == [(2, 1), (4, 1.5), (6, 2), (8, 3)]
    assert not rejects


def test_rows_before_a_header_are_set_aside() -> None:
    rows, rejects = parse(row(1), row(2), HEAD, row(3))
    assert rows == [(4, 3)]
    assert [(reject.line, reject.reason.partition(":")[0]) for reject in rejects] == [
        (1, "2 rows without a header")
    ]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (HEAD.replace("job_completion_time|", "x|"), "the header has no job_completion_time"),
        (
            HEAD.replace("+environ", ""),
            "the header has neither info nor system, partition and environ",
        ),
        (
            HEAD.replace("display_name", "x"),
            "the header has no name of the test, such as display_name",
        ),
        (
            HEAD.replace("bw_value|bw_unit", "x|bw_value=bw_unit"),
            "the header has 'bw_value=bw_unit': right is one column for each part of a value",
        ),
    ],
)
def test_a_header_that_identifies_no_value_is_set_aside(header: str, reason: str) -> None:
    rows, rejects = parse(header, row(1), HEAD, row(2))
    assert rows == [(4, 2)]
    assert rejects == [Reject(1, reason)]


def test_parametrized_and_plain_rows_may_be_mixed() -> None:
    content = "\n".join([HEAD, row(1), row(2, name="Check"), ""]).encode()
    assert perflog.parse(content).rows["name"].to_list() == ["Check %p=1", "Check"]


def test_a_delimiter_in_a_text_costs_a_row_only_where_readings_of_it_differ() -> None:
    rows, rejects = parse(HEAD, row(1, descr="a|b"), row(2, descr="a|b|c"), row(3, name="A %p=a|b"))
    assert rows == [(2, 1), (3, 2)]
    # "A %p=a" might end the description: then the name is b.
    assert rejects == [Reject(4, "14 columns; the header has 13")]


def test_a_time_without_a_zone_is_of_the_zone_given() -> None:
    content = "\n".join([HEAD, row(1, "2026-07-01T01:00:00"), ""]).encode()
    parsed_file = perflog.parse(content, zoneinfo.ZoneInfo("Europe/Berlin"))
    assert parsed_file.rows["time"][0] == datetime.datetime(2026, 6, 30, 23)


def test_an_attribute_named_like_a_variable_is_none() -> None:
    assert parse(f"{HEAD}|max_value", f"{row(1)}|99") == ([(2, 1)], [])


def test_a_hundred_thousand_rows_take_less_than_a_second() -> None:
    """A bound three times as wide as the time it should take: other programs run besides."""
    head = "job_completion_time|version|descr|display_name|system|partition|environ|result"
    parts = ("value", "unit", "ref", "lower_thres", "upper_thres")
    head += "".join(f"|v{n}_{part}" for n in range(4) for part in parts)
    assert head.count("|") == 27
    lines = [head] + [
        f"2026-11-{1 + n % 28:02}T0{n // 28 % 10}:00:00+00:00|4.10.4|text|Check %p={n % 500}|"
        f"tulip|cpu|gcc|pass" + f"|{n + 0.5}|MB/s|0|null|null" * 4
        for n in range(100_000)
    ]
    content = ("\n".join(lines) + "\n").encode()
    start = time.process_time()
    parsed_file = perflog.parse(content)
    assert time.process_time() - start < 3
    assert parsed_file.rows.height == 400_000
    assert not parsed_file.rejects


@pytest.mark.parametrize("tasks", ["", "num_tasks=4|"])
def test_a_log_of_reframe_3_is_read_without_a_header(tasks: str) -> None:
    rows = [
        f"2021-05-0{day}T10:00:00+02:00|reframe 3.6.1|Stream on tulip:cpu using gcc|jobid=12|"
        f"{tasks}copy={value}|ref=24 (l=-0.05, u=None)|GB/s\n"
        for day, value in ((6, 23.5), (7, 23.6))
    ]
    content = "".join([*rows, "hello\n", rows[1].replace("|GB/s", "|GB/s|more")])
    result = perflog.parse(content.encode())
    columns = ["name", "system", "partition", "environ", "metric", "value", "unit"]
    assert result.rows.select(*columns, "lower", "upper").rows() == [
        ("Stream", "tulip", "cpu", "gcc", "copy", value, "GB/s", -0.05, None)
        for value in (23.5, 23.6)
    ]
    assert result.rows["time"].dt.hour().to_list() == [8, 8]
    assert result.rows["facts"].to_list() == ['{"ReFrame": "3.6.1"}'] * 2
    (reject,) = result.rejects
    assert (reject.line, reject.reason[:25]) == (3, "2 rows without a header: ")


def test_a_table_as_excel_writes_it_is_read() -> None:
    head = "perf_unit,perf_value,perf_var,environ,partition,system,display_name,job_completion_time"
    rows = "s,1.5,time,gcc,cpu,tulip,Check,2026-11-03 02:10:00\r\n"
    content = b"\xef\xbb\xbf" + f"{head}\r\n{rows}".encode()
    (value,) = perflog.parse(content, zoneinfo.ZoneInfo("America/Los_Angeles")).rows.to_dicts()
    assert (value["unit"], value["value"], value["time"].hour) == ("s", 1.5, 10)
