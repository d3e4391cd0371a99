"""The NPB study's definitions, with answers known by hand, and NPB 3.4.1's output as recorded."""

import json
from pathlib import Path

import polars as pl
import pytest

from roundtrip.errors import UserError
from roundtrip.measure import samples
from roundtrip.studies.npb import derived, is_legal_rank_count

DATA = Path(__file__).parents[2] / "data" / "npb"


def frame(rows: list[tuple[int, str, int, str, float, str]]) -> pl.DataFrame:
    """Rows of (size_bytes, phase, rep, metric, value, unit)."""
    sample_rows = [("npb", "CG/S", "native", *row) for row in rows]
    return pl.DataFrame(sample_rows, schema=samples.CSV_SCHEMA, orient="row")


LAUNCH = [
    (0, "total", 0, "time", 2.5, "s"),
    (0, "total", 0, "rate", 100.0, "Mop/s"),
    (0, "iteration", 0, "time", 1.2, "s"),
    (0, "compute", 0, "time", 0.9, "s"),
    (0, "compute", 1, "time", 0.6, "s"),
    (0, "exchange", 0, "time", 0.3, "s"),
    (0, "exchange", 1, "time", 0.2, "s"),
    (8, "exchange", 0, "messages", 30.0, "1"),
    (800, "exchange", 0, "messages", 10.0, "1"),
]


def test_what_our_program_says_of_its_history_is_read(tmp_path: Path) -> None:
    recorded = DATA / "native.cg.S.1.txt"
    assert derived.parse_output(recorded).history is None
    history = "deviates at iteration 3: zeta 8.5 instead of 8.6, 1e-13 apart at most"
    output = tmp_path / "native.txt"
    output.write_text(f" History: {history}\n{recorded.read_text()}")
    assert derived.parse_output(output).history == history


def test_the_summary_has_rate_time_and_mean_message_if_there_are_any() -> None:
    assert derived.perf_variables(frame(LAUNCH)) == pytest.approx(
        {"rate": 100, "time": 2.5, "compute_share": 0.75, "messages": 40, "mean_message_bytes": 206}
    )
    figures = derived.perf_variables(frame(LAUNCH[:4]))
    assert figures == {"rate": 100, "time": 2.5, "compute_share": 1}


def test_the_first_point_of_a_sweep_stands_for_its_launch() -> None:
    rows = frame(LAUNCH)
    later_rows = rows.with_columns(pl.col("value") * 2)
    assert derived.perf_variables(pl.concat([rows, later_rows]))["rate"] == 100


@pytest.mark.parametrize(
    ("benchmark", "problem_class", "ranks"),
    [
        ("BT", "S", [1, 4, 9, 16]),
        ("SP", "W", [1, 4, 9, 16, 25, 36]),
        ("CG", "S", [1, 2, 4, 8, 16, 32]),
        ("MG", "S", [1, 2, 4, 8, 16, 32]),
        ("FT", "W", [1, 2, 4, 8, 16, 32]),
        ("LU", "S", [1, 2, 3, 4, 6, 9]),
        ("EP", "S", list(range(1, 41))),
    ],
)
def test_legal_ranks_depend_on_the_class(
    benchmark: str, problem_class: str, ranks: list[int]
) -> None:
    assert [n for n in range(-1, 41) if is_legal_rank_count(benchmark, problem_class, n)] == ranks


@pytest.mark.parametrize(
    ("name", "problem", "ranks", "rate"),
    [
        ("is.S.2.txt", "IS S", 2, 7.28),
        ("cg.A.2.txt", "CG A", 2, 241.03),
        ("ep.S.2.txt", "EP S", 2, 70.53),
        ("native.cg.S.1.txt", "CG S", 1, 2747.63),  # ours
    ],
)
def test_recorded_outputs_are_read(name: str, problem: str, ranks: int, rate: float) -> None:
    result = derived.parse_output(DATA / name)
    assert f"{result.benchmark} {result.problem_class}" == problem
    assert (result.mops, result.verified) == (rate, True)
    assert (result.total_processes, result.active_processes) == (ranks, ranks)


@pytest.mark.parametrize(
    ("name", "reason"), [("lu.A.2.truncated.txt", "no result block"), ("none.out", "missing")]
)
def test_a_killed_run_and_one_without_output_are_refused(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        derived.parse_output(DATA / name)


def test_an_upstream_launch_becomes_one_of_ours(tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    output.write_text((DATA / "cg.A.2.txt").read_text())
    identity = [{"host": "n1", "ranks": [0], "slurm_node": None, "file": "/lib/libmpi.so"}]
    derived.convert_output(output, "cg.A.x", hosts=["n1"], identity=identity)
    sample_file = samples.read(tmp_path / "samples.csv")
    assert sample_file.faults == ()
    assert derived.perf_variables(sample_file.frame) == {"rate": 241.03}
    assert derived.parse_output(output).iterations == 15
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["ranks"], record["complete"]) == (2, True)
    assert (record["hosts"], record["identity"]) == (["n1"], identity)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("SUCCESSFUL\n Version", "UNSUCCESSFUL\n Version", "verification failed"),
        ("Active processes=                        2", "Active processes=   1", "only 1 of 2"),
        (" Mop/s total ", " Mops total ", "damaged"),
    ],
)
def test_wrong_idle_and_damaged_results_are_refused(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    text = (DATA / "cg.A.2.txt").read_text()
    assert old in text
    output = tmp_path / "out.txt"
    output.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=reason):
        derived.convert_output(output, "cg.A.x", hosts=["n1"])


@pytest.mark.parametrize(("name", "ranks", "messages"), [("cg.S.2", 2, 2370), ("ep.S.1", 1, None)])
def test_every_row_that_our_program_writes_is_read(
    name: str, ranks: int, messages: int | None
) -> None:
    """Times of each rank stand apart; one rank alone communicates for no time."""
    rows = samples.read_rows(DATA / f"native.{name}.samples.csv")
    communication = rows.filter(pl.col("phase") == "rank communication")
    assert communication["rep"].to_list() == list(range(ranks))
    assert (communication["value"] > 0).all() == (ranks > 1)
    variables = derived.perf_variables(rows)
    assert variables["time"] > 0 and variables.get("messages") == messages
