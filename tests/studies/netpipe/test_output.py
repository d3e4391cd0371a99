"""NetPIPE's own output: recorded, truncated and hostile."""

import json
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.studies.netpipe import output as netpipe_output
from roundtrip.studies.netpipe.output import SizeSchedule

DATA = Path(__file__).parents[2] / "data" / "netpipe"


@pytest.mark.parametrize("name", ["NPopenmpi-4.1.4.full.out", "NPmpich2-4.0.2.full.out"])
def test_a_recorded_run_has_124_points(name: str) -> None:
    points = netpipe_output.parse_output(DATA / name)
    assert len(points) == 124
    assert (points[0].size_bytes, points[-1].size_bytes) == (1, 8388611)


def test_times_agree_with_the_time_column_within_its_rounding() -> None:
    file = DATA / "NPopenmpi-4.1.4.full.out"
    for line, point in zip(
        file.read_text().splitlines(), netpipe_output.parse_output(file), strict=True
    ):
        assert point.seconds == pytest.approx(float(line.split()[2]), abs=0.6e-8)


@pytest.mark.parametrize("index", [1, 7, 60, 122])
def test_a_missing_line_is_found(tmp_path: Path, index: int) -> None:
    file = tmp_path / "np.out"
    lines = (DATA / "NPopenmpi-4.1.4.full.out").read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:index] + lines[index + 1 :]))
    with pytest.raises(UserError, match="is next: a line is missing") as error:
        netpipe_output.parse_output(file)
    assert error.value.line == index + 1


def test_a_line_too_many_is_found(tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    text = (DATA / "NPopenmpi-4.1.4.full.out").read_text()
    file.write_text(text + text.splitlines(keepends=True)[-1])
    with pytest.raises(UserError, match="size 8388611 where NetPIPE was to end"):
        netpipe_output.parse_output(file)


@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        (SizeSchedule(end=64, perturbation=0), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]),
        (SizeSchedule(1, 1, 0), [1]),
        (SizeSchedule(131072, 1 << 19, 0), [131072, 196608, 262144, 393216, 524288]),
    ],
)
def test_schedules_of_other_options(schedule: SizeSchedule, sizes: list[int]) -> None:
    assert list(schedule.sizes()) == sizes


def test_convert_writes_a_launch(tmp_path: Path) -> None:
    file = tmp_path / "np.out"
    file.write_bytes((DATA / "NPmpich2-4.0.2.full.out").read_bytes())
    identity = [{"host": "n1", "ranks": [0], "slurm_node": None, "file": "/lib/libmpi.so"}]
    netpipe_output.convert_output(file, "NPmpich2", 2, hosts=["n1"], identity=identity)
    run = json.loads((tmp_path / "run.json").read_text())
    rows = [r for r in (tmp_path / "samples.csv").read_text().splitlines() if not r.startswith("#")]
    assert run["complete"] is True
    assert (run["hosts"], run["identity"]) == (["n1"], identity)
    assert run["samples"]["rows"] == 124 == len(rows) - 1
    assert rows[0] == "study,case,variant,size_bytes,phase,rep,metric,value,unit"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"       1 1.831682   0.00000417\n       2 9.45\n", 2),
        (b"       1 1.831682   0.00000417\n       2 3.66", 2),
        (b"       1 1.831682   0.00000419\n", 1),
        (b"       1 1_8.831682   0.00000417\n", 1),
        (b"       2 3.663364   0.00000417\n", 1),
        (b"       1 -1.8   0.00000417\n", 1),
        (b"       1 inf   0.00000417\n", 1),
        (b"       1 1.8 0.1 7\n", 1),
        (b"       1 237637\n", 1),  # of the integrity mode, which has no times
        (b"<script>\n", 1),
        (b"\xff\x00\n", None),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: bytes, line: int | None) -> None:
    file = tmp_path / "np.out"
    file.write_bytes(content)
    with pytest.raises(UserError) as error:
        netpipe_output.parse_output(file)
    assert error.value.line == line
