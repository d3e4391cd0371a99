"""``roundtrip nodes``: who is sick, in one line each, and the exit status."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from support.command import parse_answer
from support.pairs import CAMPAIGN, ENVIRON, NODE_EMULATION, SITE, PairNightWriter, pseudonym
from typer.testing import CliRunner, Result

from roundtrip.cli import app
from roundtrip.errors import UserError
from roundtrip.measure import pseudonyms
from roundtrip.sites import schedulers

GONE = {"node": pseudonym(99), "state": "drained", "reason": "bad cable"}
GONE_FACTS = {"nodes_not_measured": [GONE]}


def nodes(reports: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["nodes", SITE, "--reports", str(reports), *options])


def test_a_sick_node_is_named_and_the_status_is_one(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, added_s_by_node={3: 100e-6}, facts=GONE_FACTS).write(2)
    result = nodes(tmp_path)
    first, *rest = result.stdout.splitlines()
    assert result.exit_code == 1
    assert first.startswith(f"{CAMPAIGN}: {pseudonym(3)} is sick: latency ")
    assert first.endswith("two nights; and 1 other measure.") and "of 15 partners" in first
    night = "was not measured in the night of 2026-01-02"
    reason = "nor in any night before (drained: bad cable)"
    assert rest == [f"{CAMPAIGN}: {GONE['node']} {night}, {reason}."]
    output = parse_answer("nodes", nodes(tmp_path, CAMPAIGN, "--json").stdout)
    (finding,) = output["named"]
    assert (finding["kind"], finding["name"]) == ("node", pseudonym(3))
    assert finding["nodes"] == [pseudonym(3)]
    latency = next(row for row in finding["measures"] if row["measure"] == "latency")
    assert latency["low"] < 200 < latency["high"] and latency["launches"] == 8
    assert latency["nights"] == 2 and latency["q"] < 0.001
    expected = {"campaign": CAMPAIGN, **GONE, "night": "2026-01-02T01:00:00Z", "last": ""}
    assert output["not_measured"] == [expected] and output["cannot_tell"] == []


def test_a_node_whose_clock_runs_fast_is_named(tmp_path: Path) -> None:
    """By the newest night, and once: its times, which look like those of a sick node, are wrong."""
    PairNightWriter(tmp_path, added_s_by_node={3: 100e-6}, clock_rate_by_node={3: 1.3}).write(2)
    result = nodes(tmp_path)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        f"{CAMPAIGN}: The clock of {pseudonym(3)} runs 1.3 times as fast as those of 4 other nodes:"
        " its times are wrong."
    )
    output = parse_answer("nodes", nodes(tmp_path, "--json").stdout)
    assert output["named"] == []
    assert output["clocks"][0] == {
        **{"campaign": CAMPAIGN, "node": pseudonym(3), "other": ""},
        **{"rate": pytest.approx(1.3), "partners": 4},
    }


def test_nodes_that_failed_or_were_lost_are_listed(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, nodes=8).night(0)
    facts = {"nodes_not_measured": [{**GONE, "node": pseudonym(6)}]}
    plan = {"cluster": {"pairs": [{"hosts": [pseudonym(n)]} for n in (0, 77)]}}
    PairNightWriter(
        tmp_path, nodes=8, failed_nodes=frozenset({5, 6}), facts=facts, plan=plan
    ).night(1)
    result = nodes(tmp_path)
    night = "was not measured in the night of 2026-01-02"
    assert [line for line in result.stdout.splitlines() if night in line] == [
        f"{CAMPAIGN}: {pseudonym(5)} {night}, last on 2026-01-01 "
        "(failed: all 4 launches failed, no answer).",
        f"{CAMPAIGN}: {pseudonym(6)} {night}, last on 2026-01-01 (drained: bad cable).",
        f"{CAMPAIGN}: {pseudonym(77)} {night}, nor in any night before "
        "(missing: no launch on it was made).",
    ]
    assert "nodes stands out" in result.stdout
    assert result.exit_code == 1, "all launches on one of them failed"


def test_the_partner_of_a_node_that_went_down_is_not_said_to_have_failed(tmp_path: Path) -> None:
    down_nodes = frozenset({1})
    plan = {"cluster": {"pairs": [{"hosts": [pseudonym(1), pseudonym(6)]}]}}
    PairNightWriter(
        tmp_path,
        nodes=8,
        rounds_a_night=1,
        failed_nodes=down_nodes,
        down_nodes=down_nodes,
        plan=plan,
    ).night(0)
    result = nodes(tmp_path)
    first, second = (line for line in result.stdout.splitlines() if "was not measured" in line)
    assert first.startswith(f"{CAMPAIGN}: {pseudonym(1)} ")
    assert first.endswith("(failed: all 1 launches failed, no answer).")
    assert second.startswith(f"{CAMPAIGN}: {pseudonym(6)} ")
    assert second.endswith(f"(missing: no launch on it completed: {pseudonym(1)} went down).")


def test_results_of_emulated_nodes_say_so_and_can_be_printed(tmp_path: Path) -> None:
    PairNightWriter(
        tmp_path,
        added_s_by_node={3: 100e-6},
        bandwidth_divisor_by_node={9: 4.0},
        emulated=NODE_EMULATION,
    ).write(2)
    lines = nodes(tmp_path).stdout.splitlines()
    assert {line.split()[1] for line in lines} == {pseudonym(3), pseudonym(9)}
    assert all("is sick (EMULATED NODES): " in line for line in lines)
    assert not any("?" in line or "\N{NO-BREAK SPACE}" in line for line in lines)
    assert any(" % [" in line and ", " in line.partition("[")[2] for line in lines)
    output = parse_answer("nodes", nodes(tmp_path, "--json").stdout)
    assert output["labels"] == {CAMPAIGN: {ENVIRON: "EMULATED NODES"}}
    measures = [row for finding in output["named"] for row in finding["measures"]]
    assert measures and {row["label"] for row in measures} == {"EMULATED NODES"}


@pytest.mark.parametrize(("emulated", "mark"), [(None, ""), (NODE_EMULATION, " (EMULATED NODES)")])
def test_healthy_nodes_say_what_would_be_seen(tmp_path: Path, emulated: Any, mark: str) -> None:
    """Nodes that Slurm had taken out are no alarm."""
    PairNightWriter(tmp_path, emulated=emulated, facts=GONE_FACTS).write(2)
    result = nodes(tmp_path)
    assert result.exit_code == 0
    assert f"None of 16 nodes stands out{mark}; latency +" in result.stdout
    assert "would have been seen" in result.stdout and "?" not in result.stdout
    assert "(drained: bad cable)" in result.stdout


def test_one_night_of_few_rounds_is_open(tmp_path: Path) -> None:
    PairNightWriter(tmp_path, rounds_a_night=2, added_s_by_node={3: 100e-6}).night(0)
    result = nodes(tmp_path)
    assert result.exit_code == 0
    assert "Cannot judge 16 nodes: needs " in result.stdout


def test_a_site_without_such_nights_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["nodes", "nowhere", "--reports", str(tmp_path)])
    assert result.exit_code != 0 and "no published night" in str(result.exception)


def test_a_user_is_warned_of_a_damaged_night_and_the_others_count(tmp_path: Path) -> None:
    writer = PairNightWriter(tmp_path, added_s_by_node={3: 100e-6}, facts=GONE_FACTS)
    *_, night = writer.write(3)
    (night / "bundle" / "cases.parquet").write_bytes(b"PAR1")
    result = nodes(tmp_path)
    first, second = result.stdout.splitlines()
    assert result.exit_code == 1 and f"{pseudonym(3)} is sick" in first
    assert "was not measured in the night of 2026-01-02" in second
    assert result.stderr.startswith(f"warning: {night}: bundle/manifest.json: cases.parquet is not")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with a key, whose run tree names one host of `Pairs`; its folder of reports."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv(pseudonyms.SITE_KEY_VARIABLE, str(tmp_path / "key"))
    (tmp_path / "key").write_text("a secret of the whole site")
    (tmp_path / "key").chmod(0o400)
    host_names = pseudonyms.HostNames({pseudonym(3): "n 3'"}, has_key=True)
    monkeypatch.setattr(pseudonyms, "collect_host_names", lambda site, runs: host_names)
    slurm = schedulers.scheduler_of_key("slurm")
    monkeypatch.setattr(schedulers, "scheduler_of_site_here", lambda site: slurm)
    return tmp_path / "reports"


def test_the_terminal_shows_the_host_of_a_node(site: Path) -> None:
    PairNightWriter(site, added_s_by_node={3: 100e-6}).write(2)
    first = nodes(site).stdout.splitlines()[0]
    assert first.startswith(f"{CAMPAIGN}: n 3' ({pseudonym(3)}) is sick: latency ")
    output = parse_answer("nodes", nodes(site, "--json").stdout)
    assert output["hosts"] == {pseudonym(3): "n 3'"}


def test_the_history_of_a_node_shows_its_host(site: Path) -> None:
    PairNightWriter(site, nodes=8).write(2)
    command = ["history", SITE, "--reports", str(site), "--all", "--series", pseudonym(3)]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "200"})
    assert f"n 3' ({pseudonym(3)})" in result.stdout
    assert pseudonym(5) not in result.stdout


def test_the_commands_that_drain_nodes_are_printed_for_a_shell(site: Path) -> None:
    PairNightWriter(site, added_s_by_node={3: 100e-6, 9: 100e-6}).write(2)
    result = nodes(site, "--drain-command")
    assert result.exit_code == 1
    (line,) = result.stdout.splitlines()
    words = shlex.split(line)
    assert words[:4] == ["scontrol", "update", "NodeName=n 3'", "State=DRAIN"]
    assert words[4].startswith(f"Reason=roundtrip {CAMPAIGN}: latency +") and len(words) == 5
    assert result.stderr.startswith(f"no command for {pseudonym(9)}: no host of this name")


def test_healthy_nodes_give_no_command(site: Path) -> None:
    PairNightWriter(site).night(0)
    result = nodes(site, "--drain-command")
    assert (result.exit_code, result.stdout) == (0, "")


def test_without_the_key_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(pseudonyms.SITE_KEY_VARIABLE, raising=False)
    PairNightWriter(tmp_path, added_s_by_node={3: 100e-6}).night(0)
    result = nodes(tmp_path, "--drain-command")
    assert isinstance(result.exception, UserError)
    message = str(result.exception)
    assert str(pseudonyms.site_key_file(SITE)) in message and "\n" not in message
    assert pseudonyms.SITE_KEY_VARIABLE in message


def test_a_flaky_node_is_named_by_its_nights_together_with_both_counts(tmp_path: Path) -> None:
    PairNightWriter(
        tmp_path, nodes=16, has_single_launches=True, failed_nodes=frozenset({5})
    ).write(2)
    result = nodes(tmp_path)
    assert result.exit_code == 1
    counts = "16 of 16 launches on it failed, 0 of 176 elsewhere, two nights."
    assert f"{CAMPAIGN}: {pseudonym(5)} is flaky: {counts}" in result.stdout.splitlines()
    (finding,) = parse_answer("nodes", nodes(tmp_path, "--json").stdout)["flaky"]
    assert (finding["nodes"], finding["failed"], finding["launches"]) == ([pseudonym(5)], 16, 16)
    assert finding["chance"] < 0.001


def test_a_slow_processor_is_said_to_be_one(tmp_path: Path) -> None:
    PairNightWriter(
        tmp_path, has_single_launches=True, half_speed_nodes={3}, bandwidth_divisor_by_node={9: 4.0}
    ).write(2)
    lines = nodes(tmp_path).stdout.splitlines()
    (slow,) = (line for line in lines if pseudonym(3) in line)
    (link,) = (line for line in lines if pseudonym(9) in line)
    assert "is sick: its processor is slow: inside the node, without the network, latency +" in slow
    assert "processor" not in link
