"""What leaves a site: named fields, tuning variables, and no private value in any byte."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.nights import Nights

from roundtrip.collect import analysis, bundle, declared, manifest, pseudonyms
from roundtrip.collect.disclosure import DIGEST, TUNING, Disclosure, withhold_private
from roundtrip.collect.environment import WITHHELD
from roundtrip.collect.pseudonyms import Pseudonyms
from roundtrip.errors import UserError
from roundtrip.files import parse_toml
from roundtrip.history import facts
from roundtrip.history.annotations import load
from roundtrip.report import data, public, publish
from roundtrip.report.build import Correction

ENVIRON = "openmpi41-boost181"
CAMPAIGNS = Path(__file__).parents[2] / "campaigns"
LOCK = Path(__file__).parents[1] / "sites" / "data" / "environment" / "spack.lock"
Maker = Callable[..., Any]
NAMES = Disclosure(Pseudonyms(["open", "nid7.acme.org"], b"k" * 16), ["proj-quantum", "alice"])

#: Where each secret is planted, and the secret.
SECRETS = {
    "access: account": "acct-falcon",
    "access: reservation": "resv-eclipse",
    "access: QOS": "qos-platinum",
    "access: mail": "zoe.quill@falcon-labs.example.org",
    "access: nodes": "blackbird07",
    "variables of the partition: token": "ghp_0123456789abcdefABCDEF0123456789abcd",
    "variables of the partition: licence server": "27000@licence.falcon-labs.example.org",
    "prepare: proxy password": "s3cr3tPr0xyW0rd",
    "prepare: home directory": "/home/zquill/private-setup.sh",
    "toolchain env_vars: path": "/projects/falcon/openmpi",
    "toolchain env_vars: key": "AKIAIOSFODNN7EXAMPLE",
    "compile flags": "/scratch/zquill/include",
    "command line": "--dump=/work-falcon/zquill/out",
    "MPI library string": "zquill@buildhost-falcon",
    "campaign.toml": "ask zquill before 9 am",
    "spack.lock": "/sw/falcon/slurm",
    "last words of a log": "glpat-ABCDEFghij0123456789",
    "reason of a failure": "login2.falcon-labs.example.org",
    "reason of a skip": "/home/zquill/pvm",
    "what a node reports": "falcon-fw@10.20.30.40",
    "reason of a drained node": "zquill@2026-11-20T09:00:00",
    "a file in env/ that nobody knows": "hush-hush-notes",
    "annotation": "zoe@falcon-labs.example.org",
    "reason of a correction": "/home/zquill/fix.txt",
    "slurm comment": "codename-nightjar",
    "point of a workload": "/home/zquill/matrix.mtx",
}
#: Parts of them that must not be found either, with the user and the key of the site.
PARTS = ("zquill", "zoe.quill", "falcon-labs", "s3cr3tPr0xyW0rd", "27000@", "thunderbolt")


def planted(make_tree: Maker) -> Any:
    """A run tree with every secret in the place that its key names."""
    tree = make_tree(launches=3, environs=(ENVIRON,), sizes=[1, 64], samples=2)
    secret = SECRETS.__getitem__
    stage = tree.fail(3, ENVIRON, fail_reason=f"job error: on {secret('reason of a failure')}")
    (stage / "rfm_job.err").write_text(f"fatal: token {secret('last words of a log')}\n")
    for file in tree.path.rglob("output/**/run.json"):
        run = json.loads(file.read_text())
        run["command"] = ["netpipe", secret("command line")]
        library = secret("MPI library string")
        run["mpi"]["library"] = f"Open MPI v4.1.4, package: Open MPI {library} Distribution"
        run["compiler"]["flags"] = f"-O3 -I{secret('compile flags')} -L/usr/lib"
        run["nodes"][0]["firmware"] = secret("what a node reports")
        run["points"][0]["parameters"] = secret("point of a workload")
        file.write_text(json.dumps(run))
    env = tree.path / "env"
    site = json.loads((env / "site-config.json").read_text())
    site["partitions"][0] |= {
        "access": [
            f"--account={secret('access: account')}",
            f"--reservation={secret('access: reservation')}",
            f"--qos={secret('access: QOS')}",
            f"--mail-user={secret('access: mail')}",
            f"--nodelist={secret('access: nodes')}",
            f"--comment={secret('slurm comment')}",
        ],
        "env_vars": [
            ["GITHUB_TOKEN", secret("variables of the partition: token")],
            ["LM_LICENSE_FILE", secret("variables of the partition: licence server")],
            ["UCX_NET_DEVICES", "mlx5_0:1"],
        ],
        "prepare_cmds": [
            f"export https_proxy=http://zquill:{secret('prepare: proxy password')}@proxy:3128",
            f". {secret('prepare: home directory')}",
        ],
    }
    (env / "site-config.json").write_text(json.dumps(site))
    environment = {
        "name": ENVIRON,
        "env_vars": [
            ["UCX_TLS", "self,sm"],
            ["PATH", f"{secret('toolchain env_vars: path')}/bin:$PATH"],
            ["OMPI_MCA_orte_aws_key", secret("toolchain env_vars: key")],
            ["SITE_SWITCH", "on-falcon"],
        ],
        "extras": {"toolchain": "Open MPI 4.1", "prefix": secret("toolchain env_vars: path")},
    }
    (env / "toolchains.json").write_text(json.dumps({ENVIRON: {"reframe": environment}}))
    lock = json.loads(LOCK.read_text())
    for spec in lock["concrete_specs"].values():
        if "external" in spec:
            spec["external"]["path"] = secret("spack.lock")
    (env / "spack.lock").write_text(json.dumps(lock))
    (env / "notes.txt").write_text(secret("a file in env/ that nobody knows"))
    drained = {"host": "blackbird07", "state": "DRAINED"}
    drained["reason"] = f"bad fan [{secret('reason of a drained node')}]"
    nodes = {
        "schema": 1,
        "partitions": {"smp": {"hosts": ["blackbird07"], "not_measured": [drained]}},
    }
    (env / "nodes.json").write_text(json.dumps(nodes))
    with (tree.path / "campaign.toml").open("a") as stream:
        stream.write(f"# {secret('campaign.toml')}\n")
    state = json.loads((tree.path / "state.json").read_text())
    why = f"no PVM in {secret('reason of a skip')} for account {secret('access: account')}"
    state["skipped"] = [{"case": "Ring/@local:smp+pvm", "reason": why}]
    (tree.path / "state.json").write_text(json.dumps(state))
    return tree


def everything(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below a folder as text: tables as what they say, and what is packed in pages."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        content = file.read_bytes()
        yield name, f"{name}\n{content.decode('utf-8', errors='replace')}"
        if file.suffix == ".parquet":
            yield name, pl.read_parquet(file).write_json()
        for packed in re.findall(rb"base64,([A-Za-z0-9+/=]{16,})", content):
            yield name, base64.b64decode(packed).decode("utf-8", errors="replace")


@pytest.mark.nightly
def test_no_planted_secret_is_in_any_published_byte(make_tree: Maker, tmp_path: Path) -> None:
    tree = planted(make_tree)
    raw = "".join(file.read_text() for file in tree.path.rglob("*") if file.is_file())
    placed = {name for name, secret in SECRETS.items() if secret in raw}
    assert placed == set(SECRETS) - {"annotation", "reason of a correction"}
    notes = tmp_path / "annotations.yaml"
    notes.write_text(f"- from: 2026-11-21\n  text: ask {SECRETS['annotation']}\n")
    reports, to = tmp_path / "reports", tmp_path / "public"
    built = bundle.build(tree.path)
    assert load(notes)[0].text == "ask [withheld]"
    Nights(reports).night(1, campaign="synthetic", site="local", started="2026-11-20T01:00:00Z")
    first = publish.publish(built, reports, annotations=lambda _: load(notes))
    assert (first / "bundle" / "history" / "notes.parquet").is_file()
    why = Correction("r1", f"see {SECRETS['reason of a correction']}")
    second = publish.publish(built, reports, why)
    for revision in (first, second):
        public.copy(revision, to)
    found = [*everything(built), *everything(reports), *everything(to)]
    assert {Path(name).suffix for name, _ in found} >= {".html", ".md", ".json", ".svg", ".parquet"}
    secrets = [*SECRETS.values(), *PARTS, pseudonyms.site_key("local").decode()]
    leaked = {(secret, name) for name, text in found for secret in secrets if secret in text}
    assert not leaked


def test_what_explains_a_change_stays(make_tree: Maker) -> None:
    built = bundle.build(planted(make_tree).path)
    read = data.read(built)
    row = read.launches.filter(pl.col("status") == "passed").row(0, named=True)
    assert row["mpi_library"] == "Open MPI v4.1.4, package: Open MPI Distribution"
    assert re.fullmatch(rf"-O3 -I{DIGEST} -L/usr/lib", row["compiler_flags"])
    published = {name: value for subject, name, value in known(built) if subject == ENVIRON}
    assert published["variable UCX_TLS"] == "self,sm"
    assert all(re.fullmatch(DIGEST, published[f"variable {n}"]) for n in ("PATH", "SITE_SWITCH"))
    site = {name: value for subject, name, value in known(built) if not subject}
    assert site["variable UCX_NET_DEVICES of partition smp"] == "mlx5_0:1"
    assert re.fullmatch(DIGEST, site["access of partition smp"])
    withheld = json.loads((built / "env" / WITHHELD).read_text())["looked_like_credentials"]
    assert "site-config.json partitions env_vars GITHUB_TOKEN" in withheld
    assert f"toolchains.json {ENVIRON} reframe env_vars OMPI_MCA_orte_aws_key" in withheld
    assert "cases.parquet reason" in withheld


def known(built: Path) -> list[facts.Fact]:
    read = data.read(built)
    passed = read.launches.filter(pl.col("status") == "passed")
    return facts.bundle_facts(
        built, manifest.verify(built), passed, read.placement.select("launch", "rank", "cpus")
    )


def test_a_private_value_that_changes_shows_by_its_digest(make_tree: Maker) -> None:
    tree = planted(make_tree)
    before = set(known(bundle.build(tree.path)))
    file = tree.path / "env" / "toolchains.json"
    file.write_text(file.read_text().replace("on-falcon", "off-falcon"))
    changed = {name for _, name, _ in before ^ set(known(bundle.build(tree.path)))}
    assert changed == {"variable SITE_SWITCH"}


def test_the_guide_names_what_stands_with_its_value() -> None:
    guide = (CAMPAIGNS.parent / "docs" / "bundle.md").read_text()
    section = guide.partition("## What stays at the site")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([A-Z_0-9]+_)`", section)) == set(TUNING)


@pytest.mark.parametrize(
    ("name", "value", "is_open"),
    [
        ("UCX_TLS", "self,sm,^tcp", True),
        ("OMP_PLACES", "{0:4},{4:4}", True),
        ("FI_PROVIDER", "'udp;ofi_rxd'", True),
        ("SLURM_CPU_BIND", "cores", True),
        ("SLURM_JOB_ACCOUNT", "hpc", False),
        ("UCX_LOG_FILE", "/home/alice/ucx.log", False),
        ("OMPI_MCA_plm_rsh_agent", "ssh -l alice", False),
        ("OMPI_MCA_btl_tcp_if_include", "10.1.0.0/16", False),
        ("I_MPI_HYDRA_HOST", "nid7", False),
        ("UCX_AUTH", "on", False),
        ("PATH", "a", False),
    ],
)
def test_variables(name: str, value: str, is_open: bool) -> None:
    published = NAMES.variable(name, value, "x")
    assert published[0] == name
    assert published[1] == value if is_open else re.fullmatch(DIGEST, published[1])


@pytest.mark.parametrize(
    "text",
    [
        "could not open the file",
        "MB/s and 1/s, 24 / 7, pingpong/same",
        "libmpi.so.40: cannot open shared object file",
        "spack install osu-micro-benchmarks@main ^openmpi@4.1.4",
        "NetPIPE/mode=pingpong@local:smp+openmpi41",
        "Intel(R) Xeon(R) @ 2.40GHz",
        "5.14.0-427.13.1.el9_4.x86_64",
        "rounds/001/stage/local/smp/openmpi41-boost181/NetPIPE_26ad4637/samples.csv",
        "ld: /usr/lib/x86_64-linux-gnu/libm.so.6",
        "run.json:1: nodes.0.kernel: 61 is not of type 'string'",
        "host node-3fa2c1d9 of node-3fa2c1d9",
        "a token of 3 words; unexpected token here",
    ],
)
def test_what_is_not_private_stays(text: str) -> None:
    assert NAMES.text(text) == text


def test_what_the_package_ships_stays() -> None:
    text = analysis.default_text()
    assert declared.public_thresholds(text, NAMES) == text
    for file in CAMPAIGNS.glob("*.toml"):
        kept = declared.public_campaign(file.read_text(), NAMES)
        assert parse_toml(kept) == parse_toml(file.read_text())
        assert "#" not in kept


@pytest.mark.parametrize("title", ["[/b] Nachtprüfung", "latency /bandwidth", "(A)/B", "24/7"])
def test_a_slash_before_a_word_of_a_title_begins_no_path(title: str) -> None:
    kept = declared.public_campaign(f"title = {json.dumps(title)}\n", NAMES)
    assert parse_toml(kept) == {"title": title}


def test_what_is_private_in_a_title_does_not_leave() -> None:
    title = "for alice of proj-quantum on nid7.acme.org: /home/alice, password=hunter22"
    kept = parse_toml(declared.public_campaign(f"title = {json.dumps(title)}\n", NAMES))["title"]
    assert re.fullmatch(rf"for {DIGEST} of {DIGEST} on \S+: {DIGEST}, password={DIGEST}", kept)
    assert "nid7" not in kept and "/home" not in NAMES.text("[/home]")


def test_comments_of_a_site_stay_with_it() -> None:
    text = 'a = 1.0 # ask alice\n"b # c" = 2 # hush\n# more\n'
    assert declared.public_thresholds(text, NAMES) == 'a = 1.0\n"b # c" = 2\n\n'
    assert declared.public_campaign("not = [toml", NAMES) == ""


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=9), st.lists(st.text(max_size=9) | st.booleans())))
def test_a_campaign_is_the_same_toml(variables: dict[str, Any]) -> None:
    names = Disclosure(Pseudonyms((), b""))
    shown = declared._value(variables)
    assert parse_toml(f"x = {shown}") == {"x": variables}
    assert isinstance(names.fields(variables), dict)


@settings(max_examples=60)
@given(st.text(max_size=60))
@example("0@/0")
def test_to_look_twice_changes_nothing(text: str) -> None:
    once = NAMES.text(text)
    assert NAMES.text(once) == once


def test_what_people_write_for_everybody() -> None:
    assert withhold_private("by alice@acme.org, see /home/alice") == "by [withheld], see [withheld]"


def test_pseudonyms_in_fields() -> None:
    pseudonym = NAMES.pseudonym("open")
    known = {"ranks": [{"host": "open", "library": "open"}], "hosts": ["open"], "reason": "on open"}
    assert NAMES.fields(known) == {
        "ranks": [{"host": pseudonym, "library": "open"}],
        "hosts": [pseudonym],
        "reason": f"on {pseudonym}",
    }
    assert pseudonyms.HOST_FIELDS == ("host", "hosts", "hostname")


def test_a_file_in_env_that_is_no_json_stays(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    (tree.path / "env" / "tools.json").write_text("{")
    built = bundle.build(tree.path)
    assert sorted(file.name for file in (built / "env").iterdir()) == [
        "host.json",
        "site-config.json",
    ]
    with pytest.raises(UserError, match="missing"):
        manifest.verify(built / "env")


def test_the_name_of_a_library_stays_behind_its_path() -> None:
    text = "rank 1 runs /projects/alice/openmpi/lib/libmpi.so.40.30, not /home/alice/x"
    assert re.fullmatch(rf"rank 1 runs {DIGEST}/libmpi\.so\.40\.30, not {DIGEST}", NAMES.text(text))
