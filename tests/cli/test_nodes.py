"""``roundtrip nodes``: who is sick, in one line each, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

from support.pairs import CAMPAIGN, EMULATED, ENVIRON, SITE, Pairs, pseudonym
from typer.testing import CliRunner

from roundtrip.cli.commands import app

GONE = {"node": pseudonym(99), "state": "drained", "reason": "bad cable"}


def test_a_sick_node_is_named_and_the_status_is_one(tmp_path: Path) -> None:
    writer = Pairs(tmp_path, slow={3: 100e-6}, facts={"nodes_not_measured": [GONE]})
    writer.night(0), writer.night(1)
    asked = ["nodes", SITE, "--reports", str(tmp_path)]
    found = CliRunner().invoke(app, asked)
    first, *rest = found.stdout.splitlines()
    assert found.exit_code == 1
    assert first.startswith(f"{CAMPAIGN}: {pseudonym(3)} is sick: latency ")
    assert first.endswith("two nights; and 1 other measure.") and "of 15 partners" in first
    night = "was not measured in the night of 2026-01-02"
    why = "nor in any night before (drained: bad cable)"
    assert rest == [f"{CAMPAIGN}: {GONE['node']} {night}, {why}."]
    told = json.loads(CliRunner().invoke(app, [*asked, CAMPAIGN, "--json"]).stdout)
    (one,) = told["named"]
    assert (one["kind"], one["name"], one["nodes"]) == ("node", pseudonym(3), [pseudonym(3)])
    latency = next(each for each in one["measures"] if each["measure"] == "latency")
    assert latency["low"] < 200 < latency["high"] and latency["launches"] == 8
    assert latency["nights"] == 2 and latency["q"] < 0.001
    absent = {"campaign": CAMPAIGN, **GONE, "night": "2026-01-02T01:00:00Z", "last": ""}
    assert told["not_measured"] == [absent] and told["cannot_tell"] == []


def test_nodes_that_failed_or_were_lost_are_listed_with_the_night_that_measured_them(
    tmp_path: Path,
) -> None:
    Pairs(tmp_path, nodes=8).night(0)
    drained = {"node": pseudonym(6), "state": "drained", "reason": "bad cable"}
    plan = {"cluster": {"pairs": [{"hosts": [pseudonym(n)]} for n in (0, 77)]}}
    writer = Pairs(
        tmp_path,
        nodes=8,
        failed=frozenset({5, 6}),
        facts={"nodes_not_measured": [drained]},
        plan=plan,
    )
    writer.night(1)
    found = CliRunner().invoke(app, ["nodes", SITE, "--reports", str(tmp_path)])
    night = "was not measured in the night of 2026-01-02"
    assert [line for line in found.stdout.splitlines() if night in line] == [
        f"{CAMPAIGN}: {pseudonym(5)} {night}, last on 2026-01-01 "
        "(failed: none of 4 launches completed, no answer).",
        f"{CAMPAIGN}: {pseudonym(6)} {night}, last on 2026-01-01 (drained: bad cable).",
        f"{CAMPAIGN}: {pseudonym(77)} {night}, nor in any night before "
        "(missing: no launch on it was made).",
    ]
    assert "No node stands out" in found.stdout
    assert found.exit_code == 1, "no launch on one of them completed"


def test_results_of_emulated_nodes_say_so_and_can_be_printed(tmp_path: Path) -> None:
    writer = Pairs(tmp_path, slow={3: 100e-6}, narrow={9: 4.0}, emulated=EMULATED)
    writer.night(0), writer.night(1)
    asked = ["nodes", SITE, "--reports", str(tmp_path)]
    lines = CliRunner().invoke(app, asked).stdout.splitlines()
    assert {line.split()[1] for line in lines} == {pseudonym(3), pseudonym(9)}
    assert all("is sick (EMULATED NODES): " in line for line in lines)
    assert not any("?" in line or "\N{NO-BREAK SPACE}" in line for line in lines)
    assert any(" % [" in line and ", " in line.partition("[")[2] for line in lines)
    told = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert told["labels"] == {CAMPAIGN: {ENVIRON: "EMULATED NODES"}}
    measures = [each for one in told["named"] for each in one["measures"]]
    assert measures and {each["label"] for each in measures} == {"EMULATED NODES"}


def test_healthy_emulated_nodes_are_said_to_be_emulated(tmp_path: Path) -> None:
    writer = Pairs(tmp_path, emulated=EMULATED)
    writer.night(0), writer.night(1)
    found = CliRunner().invoke(app, ["nodes", SITE, "--reports", str(tmp_path)])
    assert "No node stands out of 16 (EMULATED NODES); latency +" in found.stdout
    assert "?" not in found.stdout


def test_nodes_that_slurm_had_taken_out_are_no_alarm(tmp_path: Path) -> None:
    writer = Pairs(tmp_path, facts={"nodes_not_measured": [GONE]})
    writer.night(0), writer.night(1)
    found = CliRunner().invoke(app, ["nodes", SITE, "--reports", str(tmp_path)])
    assert "(drained: bad cable)" in found.stdout
    assert found.exit_code == 0


def test_healthy_nodes_end_with_zero_and_say_what_would_have_been_seen(tmp_path: Path) -> None:
    writer = Pairs(tmp_path)
    writer.night(0), writer.night(1)
    found = CliRunner().invoke(app, ["nodes", SITE, "--reports", str(tmp_path)])
    assert found.exit_code == 0
    assert "No node stands out of 16; latency +" in found.stdout
    assert "would have been seen" in found.stdout


def test_one_night_of_few_rounds_cannot_tell(tmp_path: Path) -> None:
    Pairs(tmp_path, each=2, slow={3: 100e-6}).night(0)
    found = CliRunner().invoke(app, ["nodes", SITE, "--reports", str(tmp_path)])
    assert found.exit_code == 0
    assert "Cannot judge 16 nodes: needs " in found.stdout


def test_a_site_without_such_nights_is_refused(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["nodes", "nowhere", "--reports", str(tmp_path)])
    assert found.exit_code != 0 and "no published night" in str(found.exception)


def test_a_damaged_newest_night_is_warned_of_and_the_others_are_told(tmp_path: Path) -> None:
    writer = Pairs(tmp_path, slow={3: 100e-6}, facts={"nodes_not_measured": [GONE]})
    writer.night(0), writer.night(1)
    newest = writer.night(2)
    (newest / "bundle" / "cases.parquet").write_bytes(b"PAR1")
    found = CliRunner().invoke(app, ["nodes", SITE, "--reports", str(tmp_path)])
    first, second = found.stdout.splitlines()
    assert found.exit_code == 1 and f"{pseudonym(3)} is sick" in first
    assert "was not measured in the night of 2026-01-02" in second
    assert found.stderr.startswith(f"warning: {newest}: bundle/manifest.json: cases.parquet is not")
