"""Pseudonyms of hosts: by field, and in messages where a host is expected; nowhere else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.hosts import pseudonym

from roundtrip.collect import bundle
from roundtrip.collect.pseudonyms import STABLE, Pseudonyms
from roundtrip.report import data

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]
KEY = b"a key of 16 bytes"
#: Of host n1 with that key.
N1 = "node-0c1aa61a"


def renamed(tree: Any, host: str) -> Path:
    """The bundle of a tree whose only host has another name."""
    for file in [*tree.path.rglob("run.json"), tree.path / "env" / "host.json"]:
        text = file.read_text().replace("thunderbolt.example.org", json.dumps(host)[1:-1])
        file.write_text(text)
    return bundle.build(tree.path)


@pytest.mark.parametrize(
    "host", ["open", "node1", "node2", "1", "mpi", "übung", "İ.\u017f", "rank"]
)
def test_no_name_of_a_host_rewrites_anything_but_hosts(make_tree: Maker, host: str) -> None:
    plain = renamed(make_tree("a", launches=1, environs=(ENVIRON,)), "neverland")
    odd = renamed(make_tree("b", launches=1, environs=(ENVIRON,)), host)
    assert (odd / "campaign.toml").read_bytes() == (plain / "campaign.toml").read_bytes()
    for name, column in (
        *(("cases", "hosts"), ("placement", "host"), ("medians", "nodes")),
        ("nodes", "host"),
        ("samples", None),
    ):
        one, other = (pl.read_parquet(built / f"{name}.parquet") for built in (odd, plain))
        kept = one.columns if column is None else [c for c in one.columns if c != column]
        assert one.select(kept).equals(other.select(kept)), name
    read, told = data.read(odd), pseudonym(host)
    assert read.title == "What does Boost.MPI cost over raw MPI on this machine?"
    assert read.environment["host.json"]["hostname"] == told
    assert read.launches["hosts"].to_list()[0] == [told]
    assert read.placement["host"].to_list() == [told, told]
    assert read.nodes["host"].to_list() == [told]
    assert read.launches["mpi_library"][0] == "Open MPI v4.1.4, package: Debian OpenMPI"


def test_an_empty_name_of_a_host_fails_its_launch_alone(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    file = tree.folder(2, ENVIRON) / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "hosts": [""]}))
    cases = pl.read_parquet(bundle.build(tree.path) / "cases.parquet")
    told = cases.filter(pl.col("status") == "failed")["reason"].to_list()
    assert told == ["run.json:1: hosts.0: string should have at least 1 character, not ''"]


def test_a_host_json_without_a_name_is_kept(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    file = tree.path / "env" / "host.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "hostname": ""}))
    built = bundle.build(tree.path)
    assert json.loads((built / "env" / "host.json").read_text()) == json.loads(file.read_text())


def test_a_domain_is_one_host_with_its_short_name() -> None:
    names = Pseudonyms(["n10.site", "N1", "n1.site", "localhost", ""], KEY)
    one, ten = N1, "node-364243a5"
    told = [names.of(host) for host in ("n1", "n1.site", "N10", "localhost", "x")]
    assert told == [one, one, ten, "localhost", "x"]


def test_a_host_is_the_same_whoever_is_with_it_and_another_under_another_key() -> None:
    alone = Pseudonyms(["N1.site"], KEY)
    among = Pseudonyms(["a", "n1", "z"], KEY)
    assert alone.of("n1.site") == among.of("n1") == N1
    assert re.fullmatch(STABLE, N1)
    assert Pseudonyms(["n1"], b"another").of("n1") != N1


def test_addresses_are_hosts_of_their_own() -> None:
    names = Pseudonyms(["10.0.0.1", "10.0.0.2"], KEY)
    assert names.message("10.0.0.2 after 10 s") == f"{names.of('10.0.0.2')} after 10 s"


@pytest.mark.parametrize(
    ("host", "message", "told"),
    [
        ("n1", "n1 n100 xn1 n1.site: n1:", "node1 n100 xn1 node1.site: node1:"),
        ("open", "could not open the file", "could not open the file"),
        ("open", "failed; last words: open: Killed", "failed; last words: node1: Killed"),
        ("open", "srun: error: open: task 0: Killed", "srun: error: node1: task 0: Killed"),
        ("open", "[open:1234] *** Process received", "[node1:1234] *** Process received"),
        ("mpi", "an MPI process on node mpi died", "an MPI process on node node1 died"),
        ("mpi", "STEP 1.0 ON MPI CANCELLED", "STEP 1.0 ON node1 CANCELLED"),
        ("1", "killed by signal 1; 1 of 2 on node 1", "killed by signal 1; 1 of 2 on node 1"),
        ("überhost", "no windows on ÜBERHOST", "no windows on node1"),
        ("s", "on \u017f", "on node1"),
        ("a.b", "a.b and a", "node1 and a"),
    ],
)
def test_messages(host: str, message: str, told: str) -> None:
    names = Pseudonyms([host], KEY)
    assert names.message(message) == told.replace("node1", names.of(host))


def test_no_host_at_all() -> None:
    assert Pseudonyms([], KEY).message("on x at 1: y") == "on x at 1: y"
