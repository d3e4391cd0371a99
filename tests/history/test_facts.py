"""What a night was measured with: toolchains, Spack hashes, and long values that stay apart."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from roundtrip.history import facts
from roundtrip.measure import bundle_tables
from roundtrip.measure.bundle_rows import CASES_SCHEMA, NODES_SCHEMA, PLACEMENT_SCHEMA
from roundtrip.measure.manifest import Manifest
from roundtrip.sites import lock
from roundtrip.sites.programming_environments import toolchains_in_lock

LOCK = Path(__file__).parents[1] / "sites" / "data" / "environment" / "spack.lock"
LISTED = {"env/spack.lock": {"sha256": "a" * 64, "bytes": 1}}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "env").mkdir()
    return tmp_path


def of(bundle: Path, files: dict[str, Any] | None = None) -> dict[tuple[str, str], str]:
    """Facts of a bundle without launches, by subject and name."""
    listing = _listing(**(files or {}))
    fact_rows = facts.bundle_facts(bundle, listing, pl.DataFrame(schema=CASES_SCHEMA), _PLACED)
    return {(subject, name): value for subject, name, value in fact_rows}


_PLACED = pl.DataFrame(schema={name: PLACEMENT_SCHEMA[name] for name in ("launch", "rank", "cpus")})


def _listing(*names: str, **files: Any) -> Manifest:
    entries = {**{name: {"sha256": "a" * 64, "bytes": 1} for name in names}, **files}
    return Manifest({"git": {"commit": None, "dirty": None}, "tools": {}, "files": entries}, "x")


def test_each_environment_of_a_lock_file_has_its_hash_its_mpi_and_what_carries_data(
    bundle: Path,
) -> None:
    shutil.copyfile(LOCK, bundle / "env" / "spack.lock")
    facts = of(bundle, LISTED)
    assert facts["", "spack.lock"] == "a" * 12
    for toolchain in toolchains_in_lock(lock.read_lock(LOCK)):
        assert facts[toolchain.name, "Spack hash"] == toolchain.root.hash[:12]
        mpi = toolchain.mpi
        assert facts[toolchain.name, mpi.name] == f"{mpi.version} ({mpi.hash[:7]})"
        assert facts[toolchain.name, "boost"].startswith(toolchain.boost.version)
    assert {name for _, name in facts} & {"ucx", "libfabric", "hwloc"}


def test_a_lock_file_of_another_kind_has_its_digest(bundle: Path) -> None:
    (bundle / "env" / "spack.lock").write_text("{}")
    assert of(bundle, LISTED) == {("", "spack.lock"): "a" * 12}


def test_what_installed_a_toolchain_is_kept(bundle: Path) -> None:
    packages = {"mpi": {"version": "4.1.4", "origin": "Debian openmpi 4.1.4-3"}}
    packages["compiler"] = {"version": "12.2.0", "flags": ["-O2", "-g0"]}  # type: ignore[dict-item]
    entry = {"reframe": {"env_vars": [["UCX_TLS", "sm"], "odd"]}, "installed": packages}
    (bundle / "env" / "toolchains.json").write_text(json.dumps({"openmpi41": entry, "bad": 3}))
    assert of(bundle) == {
        ("openmpi41", "MPI version"): "4.1.4",
        ("openmpi41", "MPI package"): "Debian openmpi 4.1.4-3",
        ("openmpi41", "compiler of the toolchain"): "12.2.0",
        ("openmpi41", "flags of the toolchain"): "-O2 -g0",
        ("openmpi41", "variable UCX_TLS"): "sm",
    }


def test_two_long_values_stay_apart_and_controls_are_gone(bundle: Path) -> None:
    def kernel(text: str) -> str:
        (bundle / "env" / "host.json").write_text(json.dumps({"system": {"kernel": text}}))
        return of(bundle)["", "kernel"]

    one, other = kernel("x" * 900 + "1"), kernel("x" * 900 + "2")
    assert one != other and len(one) == len(other) < 120
    assert kernel("6.1\n\x1b[2J") == "6.1 ?[2J"


def test_what_the_kernels_of_nodes_said_is_of_the_nodes(bundle: Path) -> None:
    """Only of launches that passed, and of pseudonyms that mean the same host every night."""
    rows: list[dict[str, Any]] = [
        {"launch": "1", "host": "node-0000000a", "kernel": "6.1", "adapters": ["a: 1", "b: 2"]},
        {"launch": "2", "host": "node-0000000a", "kernel": "6.2", "adapters": []},
        {"launch": "2", "host": "node-0000000b", "microcode": "0x1"},
        {"launch": "3", "host": "node-0000000b", "microcode": "0x2"},
        {"launch": "1", "host": "node1", "kernel": "6.1"},
    ]
    bundle_tables.write_frame(
        bundle_tables.make_frame(rows, NODES_SCHEMA), bundle / "nodes.parquet"
    )
    rest = pl.DataFrame(schema=CASES_SCHEMA)
    launches = pl.DataFrame({"launch": ["1", "2"]}).join(rest, on="launch", how="left")
    fact_rows = facts.bundle_facts(bundle, _listing("nodes.parquet"), launches, _PLACED)
    assert [fact for fact in fact_rows if fact[0].startswith("node")] == [
        ("node-0000000a", "adapters", "a: 1; b: 2"),
        ("node-0000000a", "kernel", "6.1 or 6.2"),
        ("node-0000000b", "microcode", "0x1"),
    ]
