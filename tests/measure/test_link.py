"""What link.json says of a launch: only a link that nobody touched measured anything."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from measure.conftest import ENVIRON, Maker

from roundtrip.errors import UserError
from roundtrip.measure import launch, records
from roundtrip.measure.launches import scan

_SETTINGS = {
    "rtt_ms": 0.0, "rate_bit_s": 0, "loss": 0, "queue_bytes": 67108864, "seed": 1, "up": True,
}  # fmt: skip


def _status() -> dict[str, Any]:
    direction = {"frames": 9, "cut": 0, "dropped": 0, "late_us_mean": 3.2}
    return {
        **_SETTINGS,
        **{"started_ns": 5, "changes": 2, "send_errors": 0},
        "directions": [{"name": name, **direction} for name in ("A->B", "B->A")],
        "self_test": {"asked_ms": 0.0, "min_ms": 0.031, "p50_ms": 0.04, "received": 25},
    }


def record(**after: Any) -> dict[str, Any]:
    """Of an untouched link, but for what `after` says of it or of its first direction."""
    status = _status()
    for key, value in after.items():
        (status["directions"][0] if key in status["directions"][0] else status)[key] = value
    links = {"asked": dict(_SETTINGS), "before": _status(), "after": status}
    return {"schema": 1, "holder": "job 7", **links, "broken": [], "status": 0}


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
    assert launch.link_fault(record(**after)) == reason


def test_a_broken_lease_is_a_fault_even_on_an_unchanged_link() -> None:
    lease = record()
    lease["broken"] = ['{"changes": {"rtt": 0.004}}']
    assert launch.link_fault(lease) == 'link changed: lease broken by {"changes": {"rtt": 0.004}}'


def test_a_link_that_was_wrong_from_the_start_is_a_fault() -> None:
    lease = record(rtt_ms=4.0)
    lease["before"]["rtt_ms"] = 4.0
    assert launch.link_fault(lease) == "link changed: RTT 0 ms asked, RTT 4 ms found"


def test_a_link_that_died_is_a_fault() -> None:
    lease = record()
    lease["after"] = None
    assert launch.link_fault(lease) == "the link did not answer when the launch ended"


def test_drops_are_no_fault_where_loss_or_rate_is_declared() -> None:
    for declaration in ({"loss": 0.1}, {"rate_bit_s": 1e7}):
        lease = record(dropped=3)
        for settings in (lease["asked"], lease["before"], lease["after"]):
            settings.update(declaration)
        assert launch.link_fault(lease) == ""


def test_a_latency_has_an_upper_bound_from_the_links_own_ping() -> None:
    lease = record()
    assert launch.longest_one_way_ms(lease) == pytest.approx(1.0)
    assert launch.longest_one_way_ms(lease) < 2.079, "RTT 0 ms: 2079 us is not explained"  # type: ignore[operator]
    slow_lease = copy.deepcopy(lease)
    slow_lease["after"]["self_test"]["p50_ms"] = 0.5  # a busy machine
    assert launch.longest_one_way_ms(slow_lease) == pytest.approx(5.0)
    for settings in (lease["asked"], lease["before"]["self_test"], lease["after"]["self_test"]):
        settings |= {"rtt_ms": 4.0, "asked_ms": 4.0, "p50_ms": 4.04}
    assert launch.longest_one_way_ms(lease) == pytest.approx(3.0)
    lease["after"], lease["before"]["self_test"] = None, None
    assert launch.longest_one_way_ms(lease) is None


def test_a_launch_over_a_touched_link_is_failed_with_the_reason(
    make_tree: Maker,
) -> None:
    tree = make_tree(launches=4, environs=(ENVIRON,))
    texts = (json.dumps(record(cut=12)), json.dumps(record()), '{"schema": 1}')
    for number, text in enumerate(texts, 1):
        (tree.folder(number, ENVIRON) / records.LINK_FILE).write_text(text)
    touched, untouched, damaged, other = scan(tree.path)
    assert (touched.status, touched.reason) == ("failed", "12 frames cut")
    assert (untouched.status, other.status) == ("passed", "passed")
    assert damaged.status == "failed"
    assert damaged.reason.startswith("link.json: the file: 'holder' is missing")


def test_a_record_that_is_none_is_one_line(tmp_path: Any) -> None:
    assert records.read_link(tmp_path) is None
    (tmp_path / records.LINK_FILE).write_text("[" * 100000)
    with pytest.raises(UserError, match="link.json"):
        records.read_link(tmp_path)
