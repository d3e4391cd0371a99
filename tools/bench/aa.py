"""The rate of reports that call one toolchain faster than itself, drawn from an A/A run.

An A/A run measures one toolchain under two names.  Each report takes ten rounds of the run and is
judged as any other report.  For comparison, the same launches are judged without their rounds:
paired with launches of other rounds, and in two blocks, one after the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from roundtrip import paths
from roundtrip.content import data
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.measure import bundle
from roundtrip.report.sections import toolchains
from roundtrip.sites.toolchains.spec import read_catalogue
from roundtrip.stats.verdicts import judge

REPORTS, ROUNDS, SEED = 200, 10, 1
NAME, ALIAS = "openmpi41-boost181", "openmpi41-boost174"
CAMPAIGN = f"""\
title = "One toolchain under two names"
launches = 30
time_limit_minutes = 240

[[check]]
name = "NetPIPE"
toolchains = ["{NAME}", "{ALIAS}"]
parameters = {{ variants = ["raw"], placement = ["shared-memory"], mode = ["pingpong", "stream"] }}
variables = {{ budget = 3, precision = 10, perturbation = 0, end = 1048576 }}
"""

Rng = np.random.Generator
Draw = Callable[[pl.DataFrame, Rng], pl.DataFrame]


def false_claims(tree: str = "") -> Iterator[str]:
    """How often reports call one toolchain faster than itself, drawn from an A/A run.

    A line for each way to pair launches: how many of the drawn reports make a false claim.  `tree`
    is the tree of an A/A run; without one, such a campaign is run.  UserError if the run has too
    few complete rounds to draw from.
    """
    run = Path(tree) if tree else run_aa_campaign()
    with tempfile.TemporaryDirectory() as folder:
        run_data = data.read_bundle(bundle.build_bundle(run, Path(folder)))
        rounds = len(_complete_rounds(run_data.launches))
        if rounds < 2 * ROUNDS:
            raise UserError(f"{rounds} whole rounds, and {2 * ROUNDS} are needed to draw from", run)
        yield f"{run}: {run_data.launches.height} launches in {rounds} rounds"
        for name, draw in (
            ("paired by round", draw_rounds),
            ("paired with launches of other rounds", draw_permuted_rounds),
            ("in blocks, one after the other", draw_blocks),
        ):
            bad_reports, claims, false_claims = count_false_claims(run_data, draw)
            yield (
                f"{name}: {bad_reports} of {REPORTS} reports of {ROUNDS} rounds have a false claim "
                f"({false_claims} of {claims} claims)"
            )


def count_false_claims(
    run_data: BundleData, draw: Draw, reports: int = REPORTS
) -> tuple[int, int, int]:
    """Return (reports with a false claim, claims, false claims) of so many drawn `reports`.

    `draw` makes the launches of one report.  The seed is fixed, so the same run gives the same
    numbers.  UserError if the run has no two toolchains that share a case and a round.
    """
    rng = np.random.default_rng(SEED)
    levels = run_data.analysis.statistics
    samples = run_data.samples.collect().lazy()
    bad_reports = claims = false_claims = 0
    for _ in range(reports):
        report = replace(run_data, launches=draw(run_data.launches, rng), samples=samples)
        section = toolchains.toolchains_section(report)
        verdicts = judge(section.ratios_by_claim(), levels) if section else {}
        if not verdicts:
            raise UserError("two toolchains that share no case and no round: not an A/A run")
        differences = sum(verdict.verdict.is_difference for verdict in verdicts.values())
        bad_reports += bool(differences)
        claims += len(verdicts)
        false_claims += differences
    return bad_reports, claims, false_claims


def draw_rounds(launches: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    """Return the launches of `ROUNDS` random rounds; columns as in cases.parquet."""
    numbers = rng.choice(_complete_rounds(launches), ROUNDS, replace=False)
    return launches.filter(pl.col("campaign_round").is_in(sorted(numbers.tolist())))


def draw_permuted_rounds(launches: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    """Return rows of random rounds as `draw_rounds`, the second toolchain's in another order."""
    sample = draw_rounds(launches, rng)
    rounds = _complete_rounds(sample)
    permutation = dict(zip(rounds, rng.permutation(rounds).tolist(), strict=True))
    return _renumber_rounds(sample, dict(zip(rounds, rounds, strict=True)), permutation)


def draw_blocks(launches: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    """Return `ROUNDS` rounds of the first toolchain and the next `ROUNDS` of the second, with the
    same numbers; columns as in cases.parquet."""
    rounds = _complete_rounds(launches)
    start = int(rng.integers(0, len(rounds) - 2 * ROUNDS + 1))
    first, second = (rounds[start + k * ROUNDS : start + (k + 1) * ROUNDS] for k in (0, 1))
    numbers = range(1, ROUNDS + 1)
    return _renumber_rounds(
        launches, dict(zip(first, numbers, strict=True)), dict(zip(second, numbers, strict=True))
    )


def _complete_rounds(launches: pl.DataFrame) -> list[int]:
    """Numbers of the rounds in which every case completed."""
    good_launches = launches.filter(pl.col("status") == "passed")
    counts = good_launches.drop_nulls("campaign_round").group_by("campaign_round").len()
    return counts.filter(pl.col("len") == pl.col("len").max())["campaign_round"].sort().to_list()


def _renumber_rounds(
    launches: pl.DataFrame, first: dict[int, int], second: dict[int, int]
) -> pl.DataFrame:
    """`launches` with new numbers for the rounds of each toolchain, those without one left out, and
    without start times."""
    first_environ = launches["environ"].drop_nulls().min()
    in_first, in_second = (
        pl.col("campaign_round").replace_strict(numbers, default=None, return_dtype=pl.Int64)
        for numbers in (first, second)
    )
    return launches.with_columns(
        campaign_round=pl.when(pl.col("environ") == first_environ)
        .then(in_first)
        .otherwise(in_second),
        started=pl.lit(None, pl.String),
    ).drop_nulls("campaign_round")


def run_aa_campaign() -> Path:
    """Run the A/A campaign on site `local`; return its tree, which stays in the folder of runs.
    UserError if the toolchain is missing or the campaign fails."""
    store, runs = paths.toolchains(), paths.runs()
    if not (store / NAME / "toolchain.json").exists():
        raise UserError(f"toolchain {NAME} is missing; run: make setup")
    with tempfile.TemporaryDirectory() as folder:
        links = Path(folder) / "toolchains"
        links.mkdir()
        mpi = read_catalogue().toolchains[NAME].mpi.name
        for name, target in ((mpi, mpi), (NAME, NAME), (ALIAS, NAME)):
            (links / name).symlink_to((store / target).resolve())
        campaign = Path(folder) / "aa.toml"
        campaign.write_text(CAMPAIGN)
        command = Path(sys.executable).with_name("roundtrip")
        process = subprocess.run(
            [str(command), "run", str(campaign), "--site", "local", "--no-report"],
            cwd=paths.checkout(),
            env={**os.environ, "ROUNDTRIP_TOOLCHAINS": str(links)},
        )
    trees = sorted((runs / "aa" / "local").glob("*/state.json"))
    if process.returncode or not trees:
        raise UserError("the A/A run did not end well: see above")
    return trees[-1].parent
