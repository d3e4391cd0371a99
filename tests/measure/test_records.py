"""Records of a run tree: what their models refuse, rounds of sessions, and what link.json says."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from measure.conftest import ENVIRON, Maker
from support.json_files import edit
from support.launches import link_record
from support.synthetic import SyntheticTree

from roundtrip.errors import UserError
from roundtrip.measure import launch, records
from roundtrip.measure.launches import scan_launches


@pytest.fixture
def launch_folder(tree: SyntheticTree) -> Path:
    return tree.launch_folder(1, ENVIRON)


def test_a_case_id_has_its_parameters_sorted() -> None:
    name = "NetPIPE %placement=shared-memory %mode=pingpong"
    expected = "NetPIPE/mode=pingpong,placement=shared-memory@local:smp+openmpi41-boost181"
    assert records.case_id_of_test(name, "local", "smp", "openmpi41-boost181") == expected
    assert records.case_id_of_test("Ring", "a", "b", "c") == "Ring/@a:b+c"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ranks": "two"}, "ranks: input should be a valid integer, not 'two'"),
        ({"ranks": 0}, "ranks: input should be greater than or equal to 1, not 0"),
        ({"schema": 2}, "schema: input should be 1, not 2"),
        ({"complete": "yes"}, "complete: input should be a valid boolean, not 'yes'"),
        ({"samples": {}}, "samples: 'rows' is missing"),
        ({"points": [{"case": "a"}]}, "points.0: "),
        ({"points": 3}, "points: input should be a list, not 3"),
        ({"coverage": {"measured": -1, "wanted": 2}}, "coverage.measured: input"),
        ({"coverage": {"measured": 1}}, "coverage: 'wanted' is missing"),
        ({"coverage": [4, 20]}, "coverage: input should be an object"),
        ({"disturbance": {"steal_s": "much"}}, "disturbance"),
        ({"ring": {"skipped": [{"variant": "mpi-rma"}]}}, "ring.skipped.0: 'reason' is missing"),
        ({"npb": {"choices": [{"of": "x"}]}}, "npb.choices.0: 'chosen' is missing"),
        ({"npb": {"verification": {"history": ""}}}, "npb.verification"),
    ],
)
def test_a_wrong_value_is_named(launch_folder: Path, changes: Any, complaint: str) -> None:
    file = launch_folder / "run.json"
    edit(file, **changes)
    with pytest.raises(UserError) as error:
        records.read_record(file)
    assert complaint in error.value.message
    assert error.value.line is not None
    line = file.read_text().splitlines()[error.value.line - 1]
    (name,) = changes
    assert f'"{name}"' in line or name in ("disturbance", "ring", "npb", "coverage")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not JSON"),
        (b'{"schema": 1,\n "ranks": ]}', "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "the file: input should be an object, not [1]"),
        (b'{"ranks": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "not JSON: nested more than 64 deep"),
        (b"[" * 70 + b"]" * 70, "not JSON: nested more than 64 deep"),
        (b'{"elapsed_s": 1' + b"0" * 400 + b"}", "a number of 401 digits"),
        (b'{"elapsed_s": 1e400}', "1e400 is not finite"),
        (b'{"hosts": ["\\ud800"]}', "half of a surrogate pair"),
        (b'{"\\udfff": 1}', "half of a surrogate pair"),
        (b'{"ranks": 1, "ranks": 2}', "the key 'ranks' stands twice"),
    ],
)
def test_what_is_not_a_record(launch_folder: Path, content: bytes, complaint: str) -> None:
    (launch_folder / "run.json").write_bytes(content)
    with pytest.raises(UserError, match="run.json") as error:
        records.read_record(launch_folder / "run.json")
    assert complaint in error.value.message
    assert "\n" not in str(error.value)


def test_the_round_that_was_written_is_read(tmp_path: Path) -> None:
    assert records.read_round_number(tmp_path) is None
    records.write_round_number(tmp_path, 7)
    assert records.read_round_number(tmp_path) == 7


@pytest.mark.parametrize("number", [0, -1, 1 << 40, True, 1.0, "1", [1], None])
def test_what_is_no_number_of_a_round_is_none(tmp_path: Path, number: Any) -> None:
    records.write_round_number(tmp_path, 1)
    (file,) = tmp_path.iterdir()
    for data in ({"round": number}, number):
        file.write_text(json.dumps(data))
        assert records.read_round_number(tmp_path) is None


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ({}, ""),
        ({"changes": 3, "rtt_ms": 4.0}, "link changed: RTT 0 ms asked, RTT 4 ms found"),
        ({"changes": 4}, "link changed 2 times"),
        ({"changes": 3, "cut": 12}, "link changed: 12 frames cut"),
        ({"cut": 12}, "12 frames cut"),
        ({"cut": 1}, "1 frame cut"),
        ({"up": False}, "link changed: up: True asked, up: False found"),
        ({"loss": 0.1}, "link changed: loss 0 asked, loss 0.1 found"),
        ({"started_ns": 6}, "the link was started anew under the launch"),
        ({"dropped": 3}, "3 frames dropped by the link, which was to lose none"),
        ({"send_errors": 2}, "2 frames dropped by the link, which was to lose none"),
        ({"late_us_mean": 800.0}, "the link was late by 800 us on average"),
    ],
)
def test_what_happened_to_the_link_is_the_reason(after: dict[str, Any], reason: str) -> None:
    assert launch.link_failure_reason(link_record(**after)) == reason


SLOW = link_record()["before"] | {"rtt_ms": 4.0}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"broken": ['{"rtt": 0.004}']}, 'link changed: lease broken by {"rtt": 0.004}'),
        ({"before": SLOW, "after": SLOW}, "link changed: RTT 0 ms asked, RTT 4 ms found"),
        ({"after": None}, "the link did not answer when the launch ended"),
    ],
)
def test_a_link_may_be_wrong_die_or_be_taken_away(changes: dict[str, Any], fault: str) -> None:
    assert launch.link_failure_reason(link_record() | changes) == fault


def test_drops_are_no_fault_where_loss_or_rate_is_declared() -> None:
    for declaration in ({"loss": 0.1}, {"rate_bit_s": 1e7}):
        lease = link_record(dropped=3)
        for settings in (lease["asked"], lease["before"], lease["after"]):
            settings.update(declaration)
        assert launch.link_failure_reason(lease) == ""


def test_a_latency_has_an_upper_bound_from_the_links_own_ping() -> None:
    lease = link_record()
    assert launch.max_one_way_ms(lease) == pytest.approx(1.0)
    assert launch.max_one_way_ms(lease) < 2.079, "RTT 0 ms: 2079 us is not explained"  # type: ignore[operator]
    slow_lease = copy.deepcopy(lease)
    slow_lease["after"]["self_test"]["p50_ms"] = 0.5  # a busy machine
    assert launch.max_one_way_ms(slow_lease) == pytest.approx(5.0)
    for settings in (lease["asked"], lease["before"]["self_test"], lease["after"]["self_test"]):
        settings |= {"rtt_ms": 4.0, "asked_ms": 4.0, "p50_ms": 4.04}
    assert launch.max_one_way_ms(lease) == pytest.approx(3.0)
    lease["after"], lease["before"]["self_test"] = None, None
    assert launch.max_one_way_ms(lease) is None


def test_a_launch_over_a_touched_link_fails(make_tree: Maker) -> None:
    tree = make_tree(launches=4, environs=(ENVIRON,))
    texts = (json.dumps(link_record(cut=12)), json.dumps(link_record()), '{"schema": 1}')
    for number, text in enumerate(texts, 1):
        (tree.launch_folder(number, ENVIRON) / records.LINK_FILE).write_text(text)
    touched, untouched, damaged, other = scan_launches(tree.path)
    assert (touched.status, touched.reason) == ("failed", "12 frames cut")
    assert (untouched.status, other.status) == ("passed", "passed")
    assert damaged.status == "failed"
    assert damaged.reason.startswith("link.json: the file: 'holder' is missing")


def test_a_record_that_is_none_is_one_line(tmp_path: Any) -> None:
    assert records.read_link_record(tmp_path) is None
    (tmp_path / records.LINK_FILE).write_text("[" * 100000)
    with pytest.raises(UserError, match="link.json"):
        records.read_link_record(tmp_path)
