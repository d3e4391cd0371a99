"""Names of hosts: pseudonyms, the key of the site that makes them, and the way back."""

import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from measure.conftest import ENVIRON, Maker, read_cases
from support.json_files import edit
from support.programs import write_script
from support.synthetic import SyntheticTree, pseudonym

from roundtrip import paths
from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.measure import bundle, pseudonyms
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN, Pseudonyms

KEY = b"a key of 16 bytes"
#: Of host n1 with that key.
N1 = "node-0c1aa61a"


def renamed(tree: Any, host: str) -> Path:
    """The bundle of a tree whose only host has another name."""
    for file in [*tree.path.rglob("run.json"), tree.path / "env" / "host.json"]:
        text = file.read_text().replace("thunderbolt.example.org", json.dumps(host)[1:-1])
        file.write_text(text)
    return bundle.build_bundle(tree.path)


@pytest.mark.parametrize(
    "host", ["open", "node1", "node2", "1", "mpi", "übung", "İ.\u017f", "rank"]
)
def test_no_name_of_a_host_rewrites_anything_but_hosts(make_tree: Maker, host: str) -> None:
    plain_bundle = renamed(make_tree("a", launches=1, environs=(ENVIRON,)), "neverland")
    odd_bundle = renamed(make_tree("b", launches=1, environs=(ENVIRON,)), host)
    bundles = (odd_bundle, plain_bundle)
    odd_campaign, plain_campaign = ((path / "campaign.toml").read_bytes() for path in bundles)
    assert odd_campaign == plain_campaign
    columns = {"cases": "hosts", "placement": "host", "medians": "nodes", "nodes": "host"}
    for name in (*columns, "samples"):
        odd_table, plain_table = (
            pl.read_parquet(path / f"{name}.parquet").drop(columns.get(name, ()))
            for path in bundles
        )
        assert odd_table.equals(plain_table), name
    bundle_data, public_name = data.read_bundle(odd_bundle), pseudonym(host)
    assert bundle_data.title == "What does Boost.MPI cost over raw MPI on this machine?"
    assert bundle_data.env_records["host.json"]["hostname"] == public_name
    assert bundle_data.launches["hosts"].to_list()[0] == [public_name]
    assert bundle_data.placement["host"].to_list() == [public_name, public_name]
    assert bundle_data.node_facts["host"].to_list() == [public_name]
    assert bundle_data.launches["mpi_library"][0] == "Open MPI v4.1.4, package: Debian OpenMPI"


def test_an_empty_name_of_a_host_fails_its_launch_alone(two_launches: SyntheticTree) -> None:
    edit(two_launches.launch_folder(2, ENVIRON) / "run.json", hosts=[""])
    cases = read_cases(two_launches)
    reasons = cases.filter(pl.col("status") == "failed")["reason"].to_list()
    assert reasons == ["run.json:1: hosts.0: string should have at least 1 character, not ''"]


def test_a_host_json_without_a_name_is_kept(tree: SyntheticTree) -> None:
    file = tree.path / "env" / "host.json"
    edit(file, hostname="")
    public_file = bundle.build_bundle(tree.path) / "env" / "host.json"
    assert json.loads(public_file.read_text()) == json.loads(file.read_text())


def test_a_domain_is_one_host_with_its_short_name() -> None:
    names = Pseudonyms(["n10.site", "N1", "n1.site", "localhost", ""], KEY)
    n1, n10 = N1, "node-364243a5"
    public_names = [names.pseudonym(host) for host in ("n1", "n1.site", "N10", "localhost", "x")]
    assert public_names == [n1, n1, n10, "localhost", "x"]


def test_a_host_is_the_same_whoever_is_with_it_and_another_under_another_key() -> None:
    single_host = Pseudonyms(["N1.site"], KEY)
    many_hosts = Pseudonyms(["a", "n1", "z"], KEY)
    assert single_host.pseudonym("n1.site") == many_hosts.pseudonym("n1") == N1
    assert re.fullmatch(PSEUDONYM_PATTERN, N1)
    assert Pseudonyms(["n1"], b"another").pseudonym("n1") != N1


def test_addresses_are_hosts_of_their_own() -> None:
    names = Pseudonyms(["10.0.0.1", "10.0.0.2"], KEY)
    assert names.replace_names("10.0.0.2 after 10 s") == f"{names.pseudonym('10.0.0.2')} after 10 s"


@pytest.mark.parametrize(
    ("host", "message", "expected"),
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
        ("", "on x at 1: y", "on x at 1: y"),  # no host at all
    ],
)
def test_messages(host: str, message: str, expected: str) -> None:
    names = Pseudonyms([host], KEY)
    assert names.replace_names(message) == expected.replace("node1", names.pseudonym(host))


SITE, SITE_KEY = "here", b"a secret of the whole site"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(pseudonyms.SITE_KEY_VARIABLE, raising=False)
    return tmp_path / "state"


def test_it_is_made_once_for_each_site_and_for_its_user_alone(state: Path) -> None:
    key = pseudonyms.ensure_site_key("here")
    file = paths.state() / "sites" / "here.key"
    assert file == state / "roundtrip" / "sites" / "here.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    assert pseudonyms.ensure_site_key("here") == key == file.read_bytes().strip()
    assert len(key) == 64
    assert pseudonyms.ensure_site_key("there") != key
    assert sorted(path.name for path in file.parent.iterdir()) == ["here.key", "there.key"]


def test_processes_at_once_make_one_key(state: Path) -> None:
    code = "from roundtrip.measure import pseudonyms as p; print(p.ensure_site_key('s').decode())"
    environment = {"PYTHONPATH": ":".join(sys.path), "XDG_STATE_HOME": str(state)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    keys = {process.communicate(timeout=300)[0] for process in processes}
    assert len(keys) == 1 and len(keys.pop().strip()) == 64


def test_another_user_names_the_shared_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key_file = tmp_path / "shared.key"
    key_file.write_text("a secret of the whole site\n")
    key_file.chmod(0o400)
    monkeypatch.setenv(pseudonyms.SITE_KEY_VARIABLE, str(key_file))
    assert pseudonyms.ensure_site_key("here") == pseudonyms.ensure_site_key("there") == SITE_KEY
    assert not (paths.state() / "sites").exists()


@pytest.mark.parametrize("mode", [0o404, 0o440, 0o600 | 0o020])
def test_a_key_that_others_can_use_is_refused(mode: int) -> None:
    pseudonyms.ensure_site_key("here")
    file = paths.state() / "sites" / "here.key"
    file.chmod(mode)
    with pytest.raises(UserError, match="others can use this key of a site: `chmod 0400` it"):
        pseudonyms.ensure_site_key("here")


def test_what_is_no_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "given.key"
    monkeypatch.setenv(pseudonyms.SITE_KEY_VARIABLE, str(file))
    with pytest.raises(UserError, match=r"given\.key: missing: ROUNDTRIP_SITE_KEY names it"):
        pseudonyms.ensure_site_key("here")
    file.touch(0o600)
    for content in ("", "too short", "x" * 5000):
        file.write_text(content)
        with pytest.raises(UserError, match="no key of a site: right are 16 to") as error:
            pseudonyms.ensure_site_key("here")
        assert not content or content not in str(error.value)
    file.unlink()
    file.mkdir()
    with pytest.raises(UserError, match=r"given\.key: Is a directory"):
        pseudonyms.ensure_site_key("here")


def test_a_folder_that_takes_no_key_is_one_line(state: Path) -> None:
    state.write_text("a file")
    with pytest.raises(UserError, match=r"sites: Not a directory"):
        pseudonyms.ensure_site_key("here")


def test_it_is_in_no_file_of_a_bundle(make_tree: Maker) -> None:
    bundle_path = bundle.build_bundle(make_tree(launches=2).path)
    key = pseudonyms.ensure_site_key("local")
    for file in filter(Path.is_file, bundle_path.rglob("*")):
        content = file.read_bytes()
        assert key not in content and bytes.fromhex(key.decode()) not in content


def test_a_tree_collected_again_on_its_site_is_the_same_bundle(make_tree: Maker) -> None:
    tree = make_tree(launches=2)
    first = bundle.build_bundle(tree.path)
    assert bundle.build_bundle(tree.path, tree.path / "again").name == first.name
    (paths.state() / "sites" / "local.key").unlink()
    assert bundle.build_bundle(tree.path, tree.path / "elsewhere").name != first.name


PLAN = {"partitions": {"all": {"pairs": [{"hosts": ["n1", "n2.cluster"]}]}}}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One run tree of the site that names two hosts; no Slurm, and no key yet."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    env = tmp_path / "runs" / "pairs" / SITE / "2026-01-01" / "env"
    env.mkdir(parents=True)
    (env / "pairs.json").write_text(json.dumps(PLAN))
    return tmp_path / "runs"


@pytest.fixture
def key_file(state: Path) -> Path:
    file = pseudonyms.site_key_file(SITE)
    file.parent.mkdir(parents=True)
    file.write_bytes(SITE_KEY)
    file.chmod(0o400)
    return file


def at_site(host: str) -> str:
    return Pseudonyms([host], SITE_KEY).pseudonym(host)


@pytest.mark.usefixtures("key_file")
def test_hosts_of_run_trees_stand_before_their_pseudonyms(runs: Path) -> None:
    host_names = pseudonyms.collect_host_names(SITE, runs)
    n1, n2, unknown = at_site("n1"), at_site("n2"), "node-00000000"
    assert host_names.has_key and host_names.host_by_pseudonym[n2] == "n2.cluster"
    assert host_names.insert_names(f"{n1} is sick: {n2}, {unknown}; my{n1} and {n1}-x.") == (
        f"n1 ({n1}) is sick: n2.cluster ({n2}), {unknown}; my{n1} and {n1}-x."
    )


@pytest.mark.usefixtures("key_file", "runs")
def test_hosts_that_slurm_lists_are_known_without_a_run_tree(tmp_path: Path) -> None:
    sinfo = tmp_path / "bin" / "sinfo"
    write_script(sinfo, "echo n7; echo n8; echo n7")
    hosts = pseudonyms.collect_host_names(SITE, tmp_path / "none").host_by_pseudonym
    assert hosts == {at_site(host): host for host in ("n7", "n8")}
    write_script(sinfo, "exit 1")
    assert pseudonyms.collect_host_names(SITE, tmp_path / "none").host_by_pseudonym == {}


def test_without_a_key_nothing_is_known_and_none_is_made(runs: Path) -> None:
    host_names = pseudonyms.collect_host_names(SITE, runs)
    assert not host_names.has_key and host_names.host_by_pseudonym == {}
    assert host_names.insert_names(at_site("n1")) == at_site("n1")
    assert not pseudonyms.site_key_file(SITE).exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"partitions": {"a": {"hosts": [1, null]}}}'])
@pytest.mark.usefixtures("key_file")
def test_a_damaged_run_tree_names_nobody(runs: Path, text: str) -> None:
    for file in runs.rglob("pairs.json"):
        file.write_text(text)
    assert pseudonyms.collect_host_names(SITE, runs).host_by_pseudonym == {}
