"""A night on a virtual cluster after Open MPI's eager limit was changed among five harmless
variables: reported, launched again, confirmed, its cause named; then accepted; and the next night,
when it is back.

One night is measured before; twenty more are copies of it, with invented noise.  The cable between
the two nodes is long, so that what a message costs is its way, and not the load of the machine.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.nights import publish_revision
from support.virtual import ENVIRON, VirtualCluster, booted_cluster, checkout_with_site

from roundtrip.measure import analysis, manifest, records
from roundtrip.measure.launches import scan_launches

pytestmark = [pytest.mark.nightly, pytest.mark.live]
CAMPAIGN = f"""\
title = "Eager"
launches = 2
allow_undecided = true
time_limit_minutes = 10
confirm = "8m"
blame = "25m"

[[check]]
name = "NetPIPE"
toolchains = ["{ENVIRON}"]
partitions = ["clusterA"]
variables = {{ budget = 1, perturbation = 0, end = 1024 }}

[check.parameters]
variants = ["raw"]
placement = ["one-per-node", "shared-memory"]
mode = ["pingpong"]
"""
COPIES, SD = 20, 0.1
VARIABLE = "OMPI_MCA_btl_tcp_eager_limit"
HARMLESS = (
    "OMPI_MCA_btl_base_warn_component_unused",
    "OMPI_MCA_mpi_show_handle_leaks",
    "OMPI_MCA_coll_base_verbose",
    "OMPI_MCA_pml_base_verbose",
    "OMPI_MCA_btl_base_verbose",
)
LIMIT = f', {VARIABLE} = "128"' + "".join(f', {name} = "0"' for name in HARMLESS)
LINE = 'OMPI_MCA_btl = "tcp,vader,self"'
#: Many a process of others interrupts launches here; a night whose launches are all disturbed is
#: left out of the history.
USUAL, RAISED = (
    "involuntary_context_switches_per_s = 100.0",
    "involuntary_context_switches_per_s = 1e9",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    options = ("--cpu-weight", "10000")
    with booted_cluster(tmp_path_factory, "e2e-eager", "2+1", options) as cluster:
        cluster.run_checked("fault", "a2", "--latency", "500us")
        checkout = checkout_with_site(cluster.share / "checkout", lambda site: site + "\n")
        limits = analysis.default_toml()
        thresholds = ("core_migrations = 8 ", "load_above_cores = 1.0", "steal_fraction = 0.01")
        for name in (*thresholds, "waited_fraction = 0.1 "):
            limits = limits.replace(name, f"{name.split('=')[0]}= 1000000.0 ")
        file = checkout / "site-configs" / "virtual" / analysis.ANALYSIS_FILE
        file.write_text(limits.replace(USUAL, RAISED))
        yield replace(cluster, checkout=checkout)


def night(cluster: VirtualCluster) -> tuple[str, Path]:
    """What a night said, and its revision."""
    reports = cluster.share / "reports"
    old_revisions = set(reports.glob("eager/virtual/*/r1"))
    job = cluster.submit(cluster.share / "eager.toml", ROUNDTRIP_NIGHTLY_BEGIN="never")
    assert cluster.await_end(job, 1800) == 0, cluster.output(job)
    (revision,) = set(reports.glob("eager/virtual/*/r1")) - old_revisions
    return cluster.output(job), revision


def copy(revision: Path, days: int, rng: np.random.Generator) -> None:
    """A night so many days before that of `revision`, each series of it with invented noise."""
    facts = manifest.verify(revision / "bundle").data
    start = datetime.fromisoformat(facts["started"]) - timedelta(days=days)
    start_text = start.strftime("%Y-%m-%dT%H:%M:%SZ")
    series = ["case_id", "variant", "size_bytes"]

    def write(folder: Path) -> str:
        shutil.copytree(revision / "bundle", folder, ignore=shutil.ignore_patterns("history"))
        (folder / manifest.MANIFEST_FILE).unlink()
        table = pl.read_parquet(folder / "medians.parquet")
        noise = table.select(series).unique().sort(series)
        noise = noise.with_columns(factor=np.exp(SD * rng.standard_normal(noise.height)))
        for name, columns in (("medians", ("median", "low", "high")), ("samples", ("value",))):
            table = pl.read_parquet(folder / f"{name}.parquet")
            values = [pl.col(column) * pl.col("factor") for column in columns]
            noisy_table = table.join(noise, on=series).with_columns(values).select(table.columns)
            noisy_table.write_parquet(folder / f"{name}.parquet")
        manifest_facts = {k: v for k, v in facts.items() if k not in ("schema", "files")}
        return manifest.write_unsigned(folder, {**manifest_facts, "started": start_text}).digest

    publish_revision(revision.parents[1] / start_text[:10], write)


def history(cluster: VirtualCluster, *more: str) -> tuple[int, str]:
    command = ["roundtrip", "history", "virtual", "eager", *more]
    process = cluster.run_process(command, 120, cwd=cluster.checkout)
    assert process.returncode in (0, 1), process.stderr
    return process.returncode, process.stdout


def large(cluster: VirtualCluster) -> list[dict[str, Any]]:
    """What is said of the messages between two nodes that the new limit concerns."""
    rows = json.loads(history(cluster, "--json")[1])["series"]
    large_rows = [
        row for row in rows if "one-per-node" in row["case_id"] and row["size_bytes"] > 128
    ]
    assert len(large_rows) >= 4
    return large_rows


def test_a_changed_eager_limit_is_found_and_confirmed(cluster: VirtualCluster) -> None:
    (cluster.share / "eager.toml").write_text(CAMPAIGN)
    site = cluster.checkout / "site-configs" / "virtual" / "site.toml"
    site_text = site.read_text()
    assert LINE in site_text
    night_output, first_revision = night(cluster)
    assert "again" not in night_output
    rng = np.random.default_rng(1)
    for days in range(1, COPIES + 1):
        copy(first_revision, days, rng)

    site.write_text(site_text.replace(LINE, LINE + LIMIT))
    night_output, revision = night(cluster)
    print(night_output)
    assert "worse last night: " in night_output and "launching 2 cases again" in night_output
    worse_rows = [row for row in large(cluster) if row["verdict"] == "worse last night"]
    assert len(worse_rows) >= 2 and all(row["alarm"] for row in worse_rows)
    confirmations = [row["confirmation"] for row in worse_rows]
    positives = [
        confirmation for confirmation in confirmations if confirmation["verdict"] == "confirmed"
    ]
    assert 2 * len(positives) > len(worse_rows), confirmations
    assert all(confirmation["control"]["launches"] >= 9 for confirmation in confirmations)
    launches = confirmations[0]["launches"]
    assert launches >= 9
    assert f"confirmed: {positives[0]['beyond']} of {launches} launches, " in night_output
    status, history_output = history(cluster)
    print(history_output)
    assert status == 1 and "Launched again: confirmed (" in history_output
    assert "Launched again" in (revision / "report.md").read_text()
    assert "sign test" in (revision / "report.html").read_text()

    (tree,) = (cluster.share / "runs/eager/virtual").glob(f"*/{records.CONFIRMATION_FOLDER}")
    assert len(scan_launches(tree)) == 2 * launches, "each round has the case and its control"
    assert len(scan_launches(tree.parent)) == 4, "and none of them is one of the night's own"
    bundle = revision / "bundle"
    assert pl.read_parquet(bundle / "cases.parquet").height == 4
    command = ["roundtrip", "report", str(revision), "--verify"]
    subprocess.run(command, env=cluster.environment, cwd=cluster.checkout, check=True)

    assert f"{VARIABLE} not set \N{RIGHTWARDS ARROW} 128 explains " in night_output, (
        "the cause is named"
    )
    (search,) = (cluster.share / "reports").glob("blame-eager/virtual/*/r1")
    assert not any(name in (search / "report.md").read_text().split("## ")[0] for name in HARMLESS)
    page = (cluster.share / "reports/eager/virtual/history.html").read_text()
    assert search.relative_to(cluster.share / "reports").as_posix() in page

    assert history(cluster, "--accept", "--all", "--reason", "a smaller eager limit")[0] == 0
    assert history(cluster)[0] == 0
    site.write_text(site_text)
    night_output, _ = night(cluster)
    rows = large(cluster)
    assert not any(row["verdict"] == "worse last night" for row in rows)
    assert any(row["incidents"] and row["incidents"][-1]["ratio"] > 1.5 for row in rows)
