"""The harness of ``make night``: its commands can be run, its table separates right from wrong."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from vclusterlib import night, spec

from roundtrip.measure import campaign_file
from roundtrip.measure.pseudonyms import Pseudonyms


def test_its_campaign_is_one_over_all_nodes(tmp_path: Path) -> None:
    file = tmp_path / "pairs.toml"
    file.write_text(night.CAMPAIGN_TEMPLATE.format(**vars(night.parse_arguments([]))))
    campaign = campaign_file.load_campaign(file)
    assert campaign.is_round_robin
    assert campaign.rounds_a_night == 4
    assert campaign.checks[0].partitions == ("clusterA", "clusterB")


def test_it_knows_nodes_by_the_pseudonyms_of_reports() -> None:
    assert night.pseudonym("a5") == Pseudonyms(["a5"], night.SITE_KEY).pseudonym("a5")


def test_each_patient_has_a_control_beside_it_that_lacks_the_fault_alone() -> None:
    names = [f"a{n}" for n in range(1, 17)] + [f"b{n}" for n in range(1, 17)]
    trials = night.choose_trials(names)
    assert [(trial.faulty, trial.control) for trial in trials] == [
        *(("a2", "a3"), ("a4", "a5"), ("a6", "a7"), ("b2", "b3"), ("b4", "b5"), ("b6", "b7"))
    ]
    parsers = {"--latency": spec.parse_rtt, "--loss": spec.parse_loss, "--cpu": spec.parse_cpu}
    for fault in night.FAULTS:
        keys = [key for key in fault.options if key in parsers]
        assert keys == [key for key in fault.control_options if key in parsers]
        assert [bool(fault.options), fault.crashes, bool(fault.variables)].count(True) == 1
        assert bool(fault.variables) == bool(fault.control_variables)
        assert fault.variables != fault.control_variables or not fault.variables
        for key, value in zip(fault.options[::2], fault.options[1::2], strict=True):
            assert parsers[key](value) > 0
    controls = [
        parsers[key](value)
        for key, value in (fault.control_options for fault in night.FAULTS if fault.control_options)
    ]
    assert controls == [0, 0, 64]


def test_what_is_named_is_read_from_the_answer_in_json() -> None:
    names = {"node-1": "a1", "node-2": "a2", "node-3": "a3"}
    slow_node = {"kind": "node", "name": "node-1", "slow_processor": True, "measures": []}
    slow_link = {
        **{"kind": "node", "name": "node-2", "slow_processor": False},
        "measures": [{"measure": "latency"}, {"measure": "tail"}, {"measure": "latency"}],
    }
    flaky_pair = {"nodes": ["node-2", "node-3"], "failed": 3, "launches": 9}
    clock = {"node": "node-1", "other": "", "rate": 1.2999}
    record = {"named": [slow_node, slow_link], "flaky": [flaky_pair], "clocks": [clock]}
    assert night.node_verdicts(record, names) == {
        "a1": "slow processor, clock 1.30 times",
        "a2": "latency, tail",
        "a2 or a3": "flaky (3 of 9 failed)",
    }


def test_the_table_has_patients_and_controls() -> None:
    trials = [night.FaultTrial(night.FAULTS[0], "a2", "a3")]
    assert night.render_table(trials, {"a2": "latency"}) == [
        "fault      node  named as  control  named as",
        "slow link  a2    latency   a3       not named",
    ]


def test_a_row_says_who_is_missing_and_who_is_there_falsely() -> None:
    row = night.render_night("sick", 2, "8 of 8", {"a1", "b2"}, {"a1", "b9"})
    assert row.endswith("named: a1, b2; not named: b9; falsely: b2")
    assert night.render_night("quiet", 1, "8 of 8", set(), set()).endswith("8 of 8  named: none")


@pytest.mark.parametrize("nodes", ["3", "0+4", "9+10"])
def test_nodes_that_no_cluster_can_have_end_it_with_one_line(
    nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert night.main(["--nodes", nodes]) == 2
    streams = capsys.readouterr()
    assert streams.err.startswith("night: ") and streams.err.count("\n") == 1
    assert streams.out == ""


@pytest.mark.parametrize(
    ("quiet_nights", "sick_nights", "status"),
    [
        ([set()], [set(), {"a2", "b2"}], 0),
        ([set()], [{"a2", "b2"}, {"a2"}], 1),
        ([set()], [set(), {"a2", "b1", "b2"}], 1),
        ([{"a1"}], [set(), {"a2", "b2"}], 1),
    ],
)
def test_the_last_night_is_to_name_the_sick_and_a_quiet_one_nobody(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    quiet_nights: Any,
    sick_nights: Any,
    status: int,
) -> None:
    @contextmanager
    def booted(options: Any) -> Iterator[Any]:
        watch = lambda node, share: nullcontext()  # noqa: E731
        yield SimpleNamespace(share=tmp_path, run_checked=lambda *words: "", crash_processes=watch)

    nights = {"quiet": iter(quiet_nights), "sick": iter(sick_nights)}
    monkeypatch.setattr(night, "booted_cluster", booted)
    answers = lambda cluster, series, names: ("", dict.fromkeys(next(nights[series]), "latency"))  # noqa: E731
    monkeypatch.setattr(night, "measure_night", answers)
    trials = [
        night.FaultTrial(night.FAULTS[0], "a2", "a3"),
        night.FaultTrial(night.FAULTS[3], "b2", "b3"),
    ]
    monkeypatch.setattr(night, "choose_trials", lambda names: trials)
    options = ["--nodes", "2+2", "--quiet", str(len(quiet_nights)), "--sick", str(len(sick_nights))]
    assert night.main(options) == status
