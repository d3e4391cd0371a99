"""The A/A tool counts what a report would say: something of two toolchains, little of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import synthetic

from roundtrip.measure import bundle, records
from roundtrip.report import data
from tools.bench import aa

OPENMPI, MPICH = "openmpi41-boost181", "mpich40-boost181"
Maker = Callable[..., Any]
FEW = 12


@pytest.fixture
def read(make_tree: Maker) -> Callable[..., data.Data]:
    def make(launches: int = 2 * aa.ROUNDS) -> data.Data:
        tree = make_tree(
            launches=launches, steady=True, environs=(OPENMPI, MPICH), sizes=[1, 1024, 65536]
        )
        for number in range(1, launches + 1):
            records.write_round(tree.path / "rounds" / f"{number:03d}", number)
        return data.read(bundle.build(tree.path))

    return make


def test_two_toolchains_are_distinct_in_every_report(read: Callable[..., data.Data]) -> None:
    wrong_reports, claims, false_claims = aa.count(read(), aa.by_round, FEW)
    assert wrong_reports == FEW
    assert 0 < false_claims <= claims == FEW * 9


def test_one_toolchain_under_two_names_is_not(
    read: Callable[..., data.Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(synthetic.TOOLCHAINS, MPICH, synthetic.TOOLCHAINS[OPENMPI])
    bundle_data = read()
    for draw in (aa.by_round, aa.of_other_rounds):
        assert aa.count(bundle_data, draw, FEW)[0] <= 1


def test_drift_between_blocks_is_taken_for_a_difference(
    read: Callable[..., data.Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Latency grows by a third half-way: in one round both have it, in two blocks one has."""
    monkeypatch.setitem(synthetic.TOOLCHAINS, MPICH, synthetic.TOOLCHAINS[OPENMPI])
    original = synthetic.Tree.launch

    def launch(self: synthetic.Tree, number: int, environ: str, rng: Any) -> Any:
        title, latency, *rest = synthetic.TOOLCHAINS[OPENMPI]
        toolchain = (title, latency * (4 / 3 if number > aa.ROUNDS else 1), *rest)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(synthetic.TOOLCHAINS, environ, toolchain)
            return original(self, number, environ, rng)

    monkeypatch.setattr(synthetic.Tree, "launch", launch)
    bundle_data = read()
    assert aa.count(bundle_data, aa.by_round, FEW)[0] <= 1
    assert aa.count(bundle_data, aa.in_blocks, FEW)[0] == FEW


def test_a_report_has_ten_whole_rounds(read: Callable[..., data.Data]) -> None:
    bundle_data = read()
    sample = aa.by_round(bundle_data.launches, aa.np.random.default_rng(3))
    assert sample["campaign_round"].n_unique() == aa.ROUNDS
    assert sample.height == 2 * aa.ROUNDS
    other_sample = aa.of_other_rounds(bundle_data.launches, aa.np.random.default_rng(3))
    assert sorted(other_sample["campaign_round"]) == sorted(sample["campaign_round"])
    assert set(other_sample["launch"]) == set(sample["launch"])


def test_too_short_a_run_is_one_line(make_tree: Maker) -> None:
    tree = make_tree(launches=3)
    with pytest.raises(aa.UserError, match="0 whole rounds, and 20 are needed"):
        list(aa.measure(str(tree.path)))
