"""What simulated a launch: in its files, in the tables of a bundle, in the facts of a night."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from measure.conftest import ENVIRON, edit
from support.bundles import rewritten
from support.synthetic import Tree

from roundtrip.errors import UserError
from roundtrip.history import facts
from roundtrip.measure import bundle, bundle_tables, launches, manifest
from roundtrip.measure.bundle_rows import PLACEMENT, TITLES, Case
from roundtrip.report import data
from roundtrip.report.labels import notice_of_simulated as notice

SIMULATOR = {"simgrid": "3.32", "platform": "grid-1ms", "platform_sha256": "5e" * 32}
SIMULATED = {**SIMULATOR, "host_flops": 2e8}


def test_what_simulated_a_launch_stands_in_columns_and_in_the_facts_of_a_night(
    tree: Tree,
) -> None:
    """It needs no allocation of a scheduler."""
    case = {"simulated": True, "scheduler": "slurm"}
    simulate(tree.path, case=case, run={"simulated": SIMULATED})
    bundle_path = bundle.build(tree.path)
    launch_rows = data.read(bundle_path).launches
    assert launch_rows.select(*TITLES).row(0) == tuple(SIMULATED.values())
    bundle_manifest = manifest.verify(bundle_path)
    night_facts = facts.bundle_facts(
        bundle_path, bundle_manifest, launch_rows, pl.DataFrame(schema=PLACEMENT)
    )
    assert (ENVIRON, "simulated: platform", "grid-1ms") in night_facts
    assert (ENVIRON, "simulated: host speed, flop/s", "200000000.0") in night_facts


@pytest.mark.parametrize(
    ("case", "run", "fault"),
    [
        ({"simulated": True}, {}, "run.json names no simulator"),
        ({}, {"simulated": SIMULATED}, "case.json says that it is not simulated"),
        (
            {"simulated": True},
            {"simulated": {**SIMULATED, "platform": None}},
            "run.json:[0-9]+: simulated",
        ),
    ],
)
def test_a_simulated_launch_that_does_not_say_by_what_fails(
    tree: Tree, case: dict[str, Any], run: dict[str, Any], fault: str
) -> None:
    simulate(tree.path, case, run)
    (launch,) = launches.scan(tree.path)
    assert launch.status == "failed"
    assert re.search(fault, launch.reason)


def test_what_simulated_a_launch_that_failed_is_left_out(two_launches: Tree) -> None:
    simulate(two_launches.path, case={"simulated": True}, run={"simulated": SIMULATED})
    for name in ("samples.csv", "run.json"):
        first, second = sorted(two_launches.path.rglob(name))
        second.write_bytes(first.read_bytes())
    launch_rows = data.read(bundle.build(two_launches.path)).launches.filter(
        pl.col("status") != "missing"
    )
    simulators = launch_rows.select("status", "simulated_simgrid").sort("status").rows()
    assert simulators == [("failed", None), ("passed", "3.32")]


def simulate(tree: Path, case: dict[str, Any], run: dict[str, Any]) -> None:
    """Add to case.json and run.json of each launch."""
    for name, changes in (("case.json", case), ("run.json", run)):
        for file in tree.rglob(name):
            edit(file, **changes)


def test_a_launch_at_many_host_speeds_has_none_of_its_own(tree: Tree) -> None:
    simulate(tree.path, {"simulated": True}, {"simulated": SIMULATOR})
    bundle_data = data.read(bundle.build(tree.path))
    assert bundle_data.launches["simulated_host_flops"].to_list() == [None]
    assert "grid-1ms (hosts of all speeds swept, file 5e5e5e5e)" in str(notice(bundle_data))


def test_a_bundle_from_before_simulation_is_read_and_one_with_half_of_it_is_not(
    bundle_path: Path,
) -> None:
    old_bundle = rewritten(bundle_path, lambda cases: cases.drop(*TITLES))
    assert data.read(old_bundle).launches["simulated_simgrid"].to_list() == [None]
    cases = bundle_tables.read_table(old_bundle / "cases.parquet", Case, [*facts.COLUMNS])
    assert cases["simulated_host_flops"].to_list() == [None]
    forged_bundle = rewritten(old_bundle, lambda cases: cases.with_columns(simulated=pl.lit(True)))
    with pytest.raises(UserError, match="simulated_simgrid"):
        data.read(forged_bundle)
