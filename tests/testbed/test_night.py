"""The harness of ``make night``: what it asks for can be run, its table tells right from wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from vclusterlib import night, units

from roundtrip.campaign import model
from roundtrip.collect.pseudonyms import Pseudonyms


def test_its_campaign_is_one_over_all_nodes(tmp_path: Path) -> None:
    file = tmp_path / "pairs.toml"
    file.write_text(night.CAMPAIGN.format(**vars(night.parsed([]))))
    campaign = model.load(file)
    assert campaign.in_pairs
    assert campaign.rounds_a_night == 4
    assert campaign.checks[0].partitions == ("clusterA", "clusterB")


def test_it_knows_nodes_by_the_pseudonyms_of_reports() -> None:
    assert night.pseudonym("a5") == Pseudonyms(["a5"], night.KEY).of("a5")


def test_three_nodes_are_sick_each_in_its_own_way() -> None:
    names = [f"a{n}" for n in range(1, 17)] + [f"b{n}" for n in range(1, 17)]
    sick = night.patients(names)
    assert list(sick) == ["a9", "b2", "b9"]
    read = {"--latency": units.rtt, "--loss": units.loss, "--cpu": units.cpu}
    assert [read[option](value) for option, value in sick.values()] == pytest.approx(
        [1e-4, 5e-3, 0.25]
    )
    assert len(night.patients(names[:4] + names[16:20])) == 3


def test_a_row_says_who_is_missing_and_who_is_there_falsely() -> None:
    told = night.row("sick", 2, "8 of 8", {"a1", "b2"}, {"a1", "b9"})
    assert told.endswith("named: a1, b2; not named: b9; falsely: b2")
    assert night.row("quiet", 1, "8 of 8", set(), set()).endswith("8 of 8  named: none")


@pytest.mark.parametrize("nodes", ["3", "0+4"])
def test_nodes_that_no_cluster_can_have_end_it_with_one_line(
    nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night.main(["--nodes", nodes]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("night: ") and told.err.count("\n") == 1
    assert told.out == ""


@pytest.mark.parametrize(
    ("quiet", "sick", "status"),
    [
        ([set()], [set(), {"a2", "b2"}], 0),
        ([set()], [{"a2", "b2"}, {"a2"}], 1),
        ([set()], [set(), {"a2", "b1", "b2"}], 1),
        ([{"a1"}], [set(), {"a2", "b2"}], 1),
    ],
)
def test_the_last_night_is_to_name_the_sick_and_a_quiet_one_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quiet: Any, sick: Any, status: int
) -> None:
    @contextmanager
    def booted(options: Any) -> Iterator[Any]:
        yield SimpleNamespace(share=tmp_path, ok=lambda *words: "")

    nights = {"quiet": iter(quiet), "sick": iter(sick)}
    monkeypatch.setattr(night, "booted", booted)
    monkeypatch.setattr(night, "night", lambda bed, series, names: ("", next(nights[series])))
    monkeypatch.setattr(night, "patients", lambda names: {"a2": ("--cpu",), "b2": ("--loss",)})
    asked = ["--nodes", "2+2", "--quiet", str(len(quiet)), "--sick", str(len(sick))]
    assert night.main(asked) == status
