"""Sweeps over host speeds: every point a simulation with its file, and a report that says so.

The replay is a model: a rank computes, and two clusters wait for `WAITED` round trips besides.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.json_files import edit
from support.synthetic import RUN_RECORD

from roundtrip.content import data
from roundtrip.content.blocks import plain_text
from roundtrip.errors import UserError
from roundtrip.measure import bundle, launches, samples
from roundtrip.report.build import build_report
from roundtrip.report.painter import svg_files
from roundtrip.sites.simgrid import SimulatedPlatform, Trace
from roundtrip.studies.npb import sweep
from roundtrip.studies.npb.sweep import BenchmarkCurves, read_curves

GRID = Path(__file__).parents[3] / "site-configs" / "simulated" / "platforms" / "grid.xml"
OPERATIONS, WAITED = 1.6e10, 100
#: Two clusters take 0.4 s more at 4 ms, and save half of 1e9 operations: they are even at 1250.
MFLOPS, EVEN = (100.0, 1250.0, 10000.0), 1250.0
ENVIRON = "openmpi41-boost181"
SIMULATED = {"simgrid": "3.32", "platform": "grid", "platform_sha256": "5e" * 32, "host_flops": 1e9}


def record(
    program: Sequence[str | Path], ranks: int, platform: SimulatedPlatform, folder: Path
) -> Trace:
    """Keeps what a verified launch says of itself."""
    folder.mkdir()
    for rank in range(ranks):
        work = f"{rank} compute {OPERATIONS / ranks:.17g}\n"
        (folder / f"rank-{rank}.txt").write_text(work)
    hosts = list(platform.hosts[:ranks])
    details = {"benchmark": "LU", "class": "A", "operations": OPERATIONS}
    record = {
        **{**RUN_RECORD, "hosts": hosts, "simulated": SIMULATED},
        "placement": [{"rank": rank, "host": hosts[rank], "cpus": [0]} for rank in range(ranks)],
        "npb": {**details, "verified": str(program[0]) != "wrong"},
    }
    (folder / "run.json").write_text(json.dumps(record))
    return Trace(folder)


def model(trace: Trace, platform: SimulatedPlatform) -> float:
    latency = re.search(r'id="added" bandwidth="\w+" latency="([\d.]+)us"', platform.text)
    assert latency
    wait = WAITED * 2e-6 * float(latency[1]) if trace.ranks == 32 else 0.0
    return OPERATIONS / trace.ranks / platform.host_flops + wait


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "record_trace", record)
    monkeypatch.setattr(sweep, "replay_trace", model)


def the_sweep(program: str = "npb") -> sweep.Sweep:
    return sweep.Sweep(Path(program), GRID, "LU", "A", MFLOPS, (0.0, 4.0), 1)


@pytest.fixture
def sweeps(tmp_path: Path, make_tree: Callable[..., Any]) -> Path:
    """A tree with two launches of a sweep."""
    tree = make_tree(launches=2, environs=(ENVIRON,))
    names = {"study": "npb", "check": "NPBHostSpeeds", "parameters": {"benchmark": "LU"}}
    names["display_name"] = "NPBHostSpeeds %benchmark=LU"
    for number in (1, 2):
        folder = tree.launch_folder(number, ENVIRON).with_name("NPBHostSpeeds_0")
        folder.mkdir()
        tree.write_case(folder, ENVIRON, num_tasks=32, simulated=True, **names)
        sweep.run_sweep(the_sweep(), folder / "sweep.txt")
        file = folder / "samples.csv"
        file.write_text(f"# launch: {number}\n{file.read_text()}")
        seal = samples.make_seal(file.read_bytes(), samples.read_rows(file))
        edit(folder / "run.json", samples=seal)
    return Path(tree.path)


def test_every_point_is_a_simulation_with_a_file(tmp_path: Path) -> None:
    sweep.run_sweep(the_sweep(), tmp_path / "sweep.txt")
    files = sorted((tmp_path / "points").glob("*.json"))
    assert len(files) == len(MFLOPS) * 3
    point = json.loads((tmp_path / "points" / "LU-A-100-two-clusters,-+4-ms.json").read_text())
    assert (point["ranks"], point["host_flops"], point["added_rtt_ms"]) == (32, 1e8, 4.0)
    assert point["simulated"] is True
    assert '# simulated: {"simgrid": "3.32"' in (tmp_path / "samples.csv").read_text()
    assert point["seconds"] == pytest.approx(5.4)
    assert len({json.loads(file.read_text())["platform_sha256"] for file in files}) == 6
    run = json.loads((tmp_path / "run.json").read_text())
    digest = hashlib.sha256(GRID.read_bytes()).hexdigest()
    assert run["simulated"] == {"simgrid": "3.32", "platform": "grid", "platform_sha256": digest}
    assert run["ranks"] == 32


def test_what_was_not_verified_is_not_swept(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="LU on 16 ranks was not verified"):
        sweep.run_sweep(the_sweep("wrong"), tmp_path / "sweep.txt")
    assert not (tmp_path / "samples.csv").exists()


def test_where_two_clusters_break_even_is_found_with_its_ratio(sweeps: Path) -> None:
    npb_launches = [
        launch for launch in launches.scan_launches(sweeps) if launch.case_record["study"] == "npb"
    ]
    assert [launch.status for launch in npb_launches] == ["passed", "passed"]
    (curves,) = read_curves(data.read_bundle(bundle.build_bundle(sweeps)))
    assert curves.name == "LU A"
    assert curves.speedups(0.0) == pytest.approx(dict.fromkeys(MFLOPS, 2.0))
    assert curves.speedups(4.0)[100.0] == pytest.approx(10 / 5.4)
    assert curves.mflops_at_speedup(4.0, 1.0) == pytest.approx(EVEN)
    assert curves.mflops_at_speedup(0.0, 1.0) is None
    assert curves.round_trips_waited == pytest.approx(WAITED)
    assert curves.compute_latency_ratio(EVEN) == pytest.approx(2.0)


def test_the_ratio_of_computing_is_of_what_ranks_declare(sweeps: Path) -> None:
    """The formula counts once what several ranks repeat, as in CG."""
    for file in sweeps.rglob("run.json"):
        run = json.loads(file.read_text())
        if run["workload"] == "npb-sweep":
            run["npb"]["operations"] = OPERATIONS / 2
            file.write_text(json.dumps(run))
    (curves,) = read_curves(data.read_bundle(bundle.build_bundle(sweeps)))
    assert curves.operations == OPERATIONS


def test_a_speed_between_two_points_lies_on_the_logarithm() -> None:
    curves = BenchmarkCurves("MG", "A", {10.0: 2.0, 1000.0: 2.0}, {4.0: {10.0: 1.0, 1000.0: 4.0}})
    assert curves.mflops_at_speedup(4.0, 1.25) == pytest.approx(100.0)
    assert curves.round_trips_waited is None


def test_the_report_shows_the_figure_with_the_studys_line_and_is_labelled(sweeps: Path) -> None:
    report = build_report(data.read_bundle(bundle.build_bundle(sweeps)))
    (part,) = [part for part in report.sections if part.anchor == "npb"]
    assert "SIMULATED" in part.title
    (figure,) = part.figures
    assert "SIMULATED" in figure.alt_text
    assert "The study, 4 ms: 2.00" in next(svg_files(figure))
    (answer,) = part.answers
    assert "LU A (SIMULATED): two clusters beat one up to" in plain_text(answer.text)
    assert len(part.tables) == 2
    for table in part.tables:
        assert table.caption.startswith("SIMULATED")
        assert all("SIMULATED" in row[0].text for row in table.rows)
    (points,) = [table for table in part.tables if "time on one cluster" in table.caption]
    links = [[cell.linked_series_key for cell in row[1:]] for row in points.rows]
    assert all(all(row) for row in links)
    assert len({key for row in links for key in row}) == 3 * len(MFLOPS)
    assert dict(report.provenance_facts)["Claims tested"] == "none"
    (audit,) = [part for part in report.sections if part.anchor == "audit"]
    rows = [row for table in audit.tables for row in table.rows]
    npb_rows = {row[0].text: row for row in rows if "NAS Parallel Benchmarks" in row[2].text}
    assert [rule for rule, row in npb_rows.items() if row[3].text == "fail"] == []
    assert "every launch gives the same values" in str(npb_rows["C13"])


@pytest.mark.parametrize("words", ["1,x", "1,-2", ""])
def test_bad_numbers_are_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--program", "p", "--platform", str(GRID), "--benchmark", "LU"]
    with pytest.raises(SystemExit) as error:
        sweep.main([*options, f"--rtts={words}"])
    assert error.value.code == 2
    assert "is not a number >= 0" in capsys.readouterr().err
