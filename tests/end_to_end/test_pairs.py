"""Two nights over all pairs of a virtual cluster, by ``sbatch``: side by side, on two switches, and
with a drained node in the second.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from support.synthetic import pseudonym
from support.virtual import ENVIRON, VirtualCluster, booted_cluster, checkout_with_site

from roundtrip.measure import manifest, pseudonyms

#: Two dozen small sessions of ReFrame on a machine that others may keep busy.
WEIGHT = ("--cpu-weight", "2000")
LEAVES = Path(__file__).parents[1] / "data" / "slurm-leaves"
pytestmark = [pytest.mark.nightly, pytest.mark.live]
CAMPAIGN = f"""\
title = "Tiny pairs"
allow_undecided = true
nodes = "all"
rounds_a_night = 2

[[check]]
name = "NetPIPE"
toolchains = ["{ENVIRON}"]
partitions = ["clusterA"]
parameters = {{ variants = ["raw"], mode = ["pingpong"] }}
variables = {{ budget = 1, precision = 0.01, perturbation = 0, end = 256 }}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    options = (*WEIGHT, "--slurm", str(LEAVES))
    with booted_cluster(tmp_path_factory, "e2e-pairs", "4+1", options) as cluster:
        yield replace(
            cluster, checkout=checkout_with_site(cluster.share / "checkout", side_by_side)
        )


def side_by_side(site: str) -> str:
    """Nodes of partition clusterA measure together, and are chosen from all by a feature."""
    table = "[partition.clusterA]\n"
    lines = 'side_by_side = true\naccess = ["--partition=grid", "--constraint=clusterA"]\n'
    return site.replace(table, f"{table}{lines}")


def night(cluster: VirtualCluster, launches: int) -> Path:
    """The bundle in the report of a night."""
    old_bundles = set((cluster.share / "reports").rglob("bundle"))
    variables = {
        "ROUNDTRIP_NIGHTLY_BEGIN": "never",
        pseudonyms.SITE_KEY_VARIABLE: str(cluster.share / "key"),
    }
    job = cluster.submit(cluster.share / "pairs.toml", "--wait", **variables)
    output = cluster.output(job)
    assert cluster.await_end(job) == 0, output
    assert f"2 cases: {launches} of {launches} launches completed" in output
    (bundle,) = set((cluster.share / "reports").rglob("bundle")) - old_bundles
    return bundle


def met(bundle: Path) -> list[tuple[int, tuple[str, ...]]]:
    rounds = pl.read_parquet(bundle / "parameters.parquet").filter(pl.col("name") == "pair_round")
    cases = pl.read_parquet(bundle / "cases.parquet").join(rounds, on="launch")
    return sorted(
        (int(number), tuple(sorted(hosts)))
        for number, hosts in cases.select("number", "hosts").rows()
    )


def on_switches(bundle: Path) -> dict[str, set[str]]:
    """By switch: the hosts that said that they hang on it."""
    hosts = defaultdict(set)
    for switch, host in pl.read_parquet(bundle / "placement.parquet")["switch", "host"].rows():
        hosts[switch].add(host)
    return hosts


def together(bundle: Path) -> list[tuple[set[str], set[str]]]:
    """Hosts of each two launches that ran at the same time."""
    cases = pl.read_parquet(bundle / "cases.parquet").select("started", "elapsed_s", "hosts")
    launches = [(datetime.fromisoformat(start), s, set(hosts)) for start, s, hosts in cases.rows()]
    spans = [(start, start + timedelta(seconds=s), hosts) for start, s, hosts in launches]
    return [
        (one[2], other[2])
        for one, other in combinations(spans, 2)
        if one[0] < other[1] and other[0] < one[1]
    ]


def pairs(*meetings: tuple[int, str]) -> list[tuple[int, tuple[str, ...]]]:
    """``(0, "a1 a2")``: the round, and who met."""
    return sorted(
        (number, tuple(sorted(pseudonym(host, "virtual") for host in hosts.split())))
        for number, hosts in meetings
    )


def test_nodes_meet_over_the_nights_and_a_drained_one_is_named(
    cluster: VirtualCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = cluster.share / "key"
    key.write_text("of this test alone, and no secret")
    key.chmod(0o400)
    monkeypatch.setenv(pseudonyms.SITE_KEY_VARIABLE, str(key))
    (cluster.share / "pairs.toml").write_text(CAMPAIGN)
    first_bundle = night(cluster, 8)
    singles = [(0, "a1"), (1, "a2"), (0, "a3"), (1, "a4")]
    meetings = [(0, "a1 a4"), (0, "a2 a3"), (1, "a2 a4"), (1, "a1 a3")]
    assert met(first_bundle) == pairs(*singles, *meetings)
    assert manifest.verify(first_bundle).data["nodes_not_measured"] == []
    overlaps = together(first_bundle)
    assert overlaps and not any(one & other for one, other in overlaps)
    a1, a2, a3, a4 = (pseudonym(f"a{number}", "virtual") for number in (1, 2, 3, 4))
    assert sorted(map(sorted, on_switches(first_bundle).values())) == sorted(
        [sorted([a1, a2]), sorted([a3, a4])]
    )
    page = (first_bundle.parent / "report.md").read_text()
    for switch, hosts in on_switches(first_bundle).items():
        assert f"| {switch} | {', '.join(sorted(hosts))} |" in page
    reason = "bad cable"
    cluster.run_checked("exec", "scontrol", "update", "node=a3", "state=drain", f"reason={reason}")
    second_bundle = night(cluster, 5)
    # the third round at last, then the first again: without the pairs of a3
    remaining_singles = [single for single in singles if single[1] != "a3"]
    assert met(second_bundle) == pairs(*remaining_singles, (2, "a1 a2"), (0, "a1 a4"))
    (entry,) = manifest.verify(second_bundle).data["nodes_not_measured"]
    assert entry == {"node": pseudonym("a3", "virtual"), "state": "drained", "reason": reason}
    plan = json.loads((second_bundle / "env" / "pairs.json").read_text())
    assert plan["partitions"]["clusterA"]["tournaments"][1]["hosts"] == [
        pseudonym(f"a{number}", "virtual") for number in (1, 2, 3, 4)
    ]
