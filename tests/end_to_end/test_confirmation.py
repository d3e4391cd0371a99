"""A night on a virtual cluster after Open MPI's eager limit was changed among five harmless
variables: reported, launched again, confirmed, its cause named; then accepted; and the next night,
when it is back.

One night is measured before; twenty more are copies of it, with invented noise.  The cable between
the two nodes is long, so that what a message costs is its way, and not the load of the machine.
"""

from __future__ import annotations

import json
import os
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
from support.nights import published
from support.virtual import ENVIRON, Virtual, booted, checkout_with, lacking, patient

from roundtrip.collect import analysis, manifest, records
from roundtrip.collect.launches import scan

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    pytest.mark.quiet,
    pytest.mark.skipif(bool(lacking()), reason=lacking() or "-"),
]
CAMPAIGN = f"""\
title = "Eager"
launches = 2
allow_untold = true
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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    home = tmp_path_factory.mktemp("eager")
    with booted(home, f"e2e-eager-{os.getpid()}", "2+1", ("--cpu-weight", "10000")) as cluster:
        cluster.ok("fault", "a2", "--latency", "500us")
        checkout = checkout_with(cluster.share / "checkout", lambda site: site + "\n")
        limits = analysis.default_text()
        usual = ("core_migrations = 8 ", "load_above_cores = 1.0", "steal_fraction = 0.01")
        for name in (*usual, "waited_fraction = 0.1 "):
            limits = limits.replace(name, f"{name.split('=')[0]}= 1000000.0 ")
        own = checkout / "site-configs" / "virtual" / analysis.FILE_NAME
        own.write_text(limits.replace(USUAL, RAISED))
        yield replace(cluster, checkout=checkout)


def night(cluster: Virtual) -> tuple[str, Path]:
    """What a night said, and its revision."""
    reports = cluster.share / "reports"
    before = set(reports.glob("eager/virtual/*/r1"))
    job = cluster.submit(cluster.share / "eager.toml", ROUNDTRIP_NIGHTLY_BEGIN="never")
    assert cluster.await_end(job, 1800) == 0, cluster.output(job)
    (revision,) = set(reports.glob("eager/virtual/*/r1")) - before
    return cluster.output(job), revision


def copy(revision: Path, days: int, rng: np.random.Generator) -> None:
    """A night so many days before that of `revision`, each series of it with invented noise."""
    facts = manifest.verify(revision / "bundle").data
    begun = datetime.fromisoformat(facts["started"]) - timedelta(days=days)
    started = begun.strftime("%Y-%m-%dT%H:%M:%SZ")
    series = ["case_id", "variant", "size_bytes"]

    def write(folder: Path) -> str:
        shutil.copytree(revision / "bundle", folder, ignore=shutil.ignore_patterns("history"))
        (folder / manifest.FILE_NAME).unlink()
        table = pl.read_parquet(folder / "medians.parquet")
        noise = table.select(series).unique().sort(series)
        noise = noise.with_columns(factor=np.exp(SD * rng.standard_normal(noise.height)))
        for name, columns in (("medians", ("median", "low", "high")), ("samples", ("value",))):
            table = pl.read_parquet(folder / f"{name}.parquet")
            values = [pl.col(column) * pl.col("factor") for column in columns]
            scattered = table.join(noise, on=series).with_columns(values).select(table.columns)
            scattered.write_parquet(folder / f"{name}.parquet")
        kept = {k: v for k, v in facts.items() if k not in ("schema", "files")}
        return manifest.write(folder, {**kept, "started": started}).digest

    published(revision.parents[1] / started[:10], write)


def history(cluster: Virtual, *more: str) -> tuple[int, str]:
    done = subprocess.run(
        ["roundtrip", "history", "virtual", "eager", *more],
        cwd=cluster.checkout,
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=patient(120),
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


def large(cluster: Virtual) -> list[dict[str, Any]]:
    """What is said of the messages between two nodes that the new limit concerns."""
    read = json.loads(history(cluster, "--json")[1])["series"]
    found = [one for one in read if "one-per-node" in one["case_id"] and one["size_bytes"] > 128]
    assert len(found) >= 4
    return found


def test_a_changed_eager_limit_is_found_and_confirmed(cluster: Virtual) -> None:
    (cluster.share / "eager.toml").write_text(CAMPAIGN)
    site = cluster.checkout / "site-configs" / "virtual" / "site.toml"
    usual = site.read_text()
    assert LINE in usual
    said, first = night(cluster)
    assert "again" not in said
    rng = np.random.default_rng(1)
    for days in range(1, COPIES + 1):
        copy(first, days, rng)

    site.write_text(usual.replace(LINE, LINE + LIMIT))
    said, revision = night(cluster)
    print(said)
    assert "worse last night: " in said and "launching 2 cases again" in said
    worse = [one for one in large(cluster) if one["verdict"] == "worse last night"]
    assert len(worse) >= 2 and all(one["alarm"] for one in worse)
    again = [one["confirmation"] for one in worse]
    confirmed = [one for one in again if one["verdict"] == "confirmed"]
    assert 2 * len(confirmed) > len(worse), again
    assert all(one["control"]["launches"] >= 9 for one in again)
    launches = again[0]["launches"]
    assert launches >= 9
    assert f"confirmed: {confirmed[0]['beyond']} of {launches} launches, " in said
    status, printed = history(cluster)
    print(printed)
    assert status == 1 and "Launched again: confirmed (" in printed
    assert "Launched again" in (revision / "report.md").read_text()
    assert "sign test" in (revision / "report.html").read_text()

    (tree,) = (cluster.share / "runs/eager/virtual").glob(f"*/{records.CONFIRMATION}")
    assert len(scan(tree)) == 2 * launches, "each round has the case and its control"
    assert len(scan(tree.parent)) == 4, "and none of them is one of the night's own"
    bundle = revision / "bundle"
    assert pl.read_parquet(bundle / "cases.parquet").height == 4
    verified = ["roundtrip", "report", str(revision), "--verify"]
    subprocess.run(verified, env=cluster.environment, cwd=cluster.checkout, check=True)

    assert f"{VARIABLE} not set \N{RIGHTWARDS ARROW} 128 explains " in said, "the cause is named"
    (search,) = (cluster.share / "reports").glob("blame-eager/virtual/*/r1")
    assert not any(name in (search / "report.md").read_text().split("## ")[0] for name in HARMLESS)
    page = (cluster.share / "reports/eager/virtual/history.html").read_text()
    assert search.relative_to(cluster.share / "reports").as_posix() in page

    assert history(cluster, "--accept", "--all", "--reason", "a smaller eager limit")[0] == 0
    assert history(cluster)[0] == 0
    site.write_text(usual)
    said, _ = night(cluster)
    back = large(cluster)
    assert not any(one["verdict"] == "worse last night" for one in back)
    assert any(one["incidents"] and one["incidents"][-1]["ratio"] > 1.5 for one in back)
