"""Arithmetic and errors of the benchmark program, and what its A/A figure counts: something of two
toolchains, little of one."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import synthetic
from support.launches import write_launch
from support.programs import run_program

from roundtrip import paths
from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.measure import bundle, records
from roundtrip.sites.site import Case
from roundtrip.studies.netpipe.output import OutputPoint
from tools.bench import aa, costs, netpipe


def test_overhead_is_sessions_without_builds_over_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path))
    tree = tmp_path / "smoke" / "local" / "20260101T000000Z"
    round_ = tree / "rounds" / "001"
    write_launch(Case("NetPIPE", (), "0" * 8, "local", "smp", "a"), round_)
    (tree / "state.json").write_text("{}")
    (round_ / "session.json").write_text(json.dumps({"wall_s": 20.0}))
    tests = [
        {"fixture": True, "time_setup": 1.0, "time_compile": 4.0, "time_run": None},
        {"fixture": False, "time_run": 12.0},
    ]
    (round_ / "report.json").write_text(json.dumps({"runs": [{"testcases": tests}]}))
    (line,) = costs.overhead()
    assert "ratio 1.250" in line


def test_overhead_without_a_run_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path))
    with pytest.raises(UserError, match="run: make campaign"):
        next(costs.overhead())


def test_latency_is_at_one_byte_and_peak_at_any_size() -> None:
    points = [OutputPoint(1, 2e-6), OutputPoint(1000, 1e-6), OutputPoint(2000, 4e-6)]
    assert netpipe.latency_s(points) == 2e-6
    assert netpipe.peak_bytes_per_s(points) == pytest.approx(1e9)


def test_an_unknown_figure_names_those_there_are() -> None:
    process = run_program(sys.executable, "-m", "tools.bench", "nope", cwd=paths.checkout())
    assert process.returncode == 2
    assert "there are: reference, curve, overhead, reporting, starting" in process.stderr


@pytest.mark.nightly
def test_a_year_of_nights_is_measured_by_its_steps() -> None:
    head, steps, sums, opening = costs.history(40, 5)
    assert head.startswith("40 nights x 5 series")
    assert re.fullmatch(r"until a browser .*: (\d+\.\d\d s|not measured: no Chromium .+)", opening)
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", f"{steps} {sums}")]
    assert len(numbers) == 7 and all(number >= 0 for number in numbers)
    ledger, _, detection, page, total, *_ = numbers
    assert total == pytest.approx(ledger + detection + page, abs=0.2)


OPENMPI, MPICH = "openmpi41-boost181", "mpich40-boost181"
Maker = Callable[..., Any]
FEW = 12


@pytest.fixture
def read(make_tree: Maker) -> Callable[..., data.BundleData]:
    def make(launches: int = 2 * aa.ROUNDS) -> data.BundleData:
        tree = make_tree(
            launches=launches, steady=True, environs=(OPENMPI, MPICH), sizes=[1, 1024, 65536]
        )
        for number in range(1, launches + 1):
            records.write_round_number(tree.path / "rounds" / f"{number:03d}", number)
        return data.read_bundle(bundle.build_bundle(tree.path))

    return make


def test_two_toolchains_are_distinct_in_every_report(read: Callable[..., data.BundleData]) -> None:
    wrong_reports, claims, false_claims = aa.count_false_claims(read(), aa.draw_rounds, FEW)
    assert wrong_reports == FEW
    assert 0 < false_claims <= claims == FEW * 9


def test_one_toolchain_under_two_names_is_not(
    read: Callable[..., data.BundleData], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(synthetic.TOOLCHAINS, MPICH, synthetic.TOOLCHAINS[OPENMPI])
    bundle_data = read()
    for draw in (aa.draw_rounds, aa.draw_permuted_rounds):
        assert aa.count_false_claims(bundle_data, draw, FEW)[0] <= 1


def test_drift_between_blocks_is_taken_for_a_difference(
    read: Callable[..., data.BundleData], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Latency grows by a third half-way: in one round both have it, in two blocks one has."""
    monkeypatch.setitem(synthetic.TOOLCHAINS, MPICH, synthetic.TOOLCHAINS[OPENMPI])
    original = synthetic.SyntheticTree.write_launch

    def launch(self: synthetic.SyntheticTree, number: int, environ: str, rng: Any) -> Any:
        title, latency, *rest = synthetic.TOOLCHAINS[OPENMPI]
        toolchain = (title, latency * (4 / 3 if number > aa.ROUNDS else 1), *rest)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(synthetic.TOOLCHAINS, environ, toolchain)
            return original(self, number, environ, rng)

    monkeypatch.setattr(synthetic.SyntheticTree, "write_launch", launch)
    bundle_data = read()
    assert aa.count_false_claims(bundle_data, aa.draw_rounds, FEW)[0] <= 1
    assert aa.count_false_claims(bundle_data, aa.draw_blocks, FEW)[0] == FEW


def test_a_report_has_ten_whole_rounds(read: Callable[..., data.BundleData]) -> None:
    bundle_data = read()
    sample = aa.draw_rounds(bundle_data.launches, aa.np.random.default_rng(3))
    assert sample["campaign_round"].n_unique() == aa.ROUNDS
    assert sample.height == 2 * aa.ROUNDS
    other_sample = aa.draw_permuted_rounds(bundle_data.launches, aa.np.random.default_rng(3))
    assert sorted(other_sample["campaign_round"]) == sorted(sample["campaign_round"])
    assert set(other_sample["launch"]) == set(sample["launch"])


def test_too_short_a_run_is_one_line(make_tree: Maker) -> None:
    tree = make_tree(launches=3)
    with pytest.raises(aa.UserError, match="0 whole rounds, and 20 are needed"):
        list(aa.false_claims(str(tree.path)))
