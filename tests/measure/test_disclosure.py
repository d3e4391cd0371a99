"""What leaves a site: named fields, tuning variables, and no private value in any byte."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from measure.conftest import ENVIRON, Maker
from support.json_files import content, edit
from support.nights import NightWriter
from support.synthetic import SyntheticTree

from roundtrip import paths
from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.files import parse_toml
from roundtrip.history import facts
from roundtrip.history.annotations import load
from roundtrip.measure import analysis, bundle, manifest, pseudonyms, public_files
from roundtrip.measure.disclosure import DIGEST_PATTERN, TUNING_PREFIXES, Redactor, withhold_private
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.measure.public_files import WITHHELD_FILE, EnvironmentFiles
from roundtrip.report import public, publish
from roundtrip.report.build import Correction
from roundtrip.report.pages.write import write_pages

CAMPAIGNS = Path(__file__).parents[2] / "campaigns"
LOCK = Path(__file__).parents[1] / "sites" / "data" / "environment" / "spack.lock"
NAMES = Redactor(Pseudonyms(["open", "nid7.acme.org"], b"k" * 16), ["proj-quantum", "alice"])

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
    "compile flags: long option": "/home/zquill/falcon/include",
    "compile flags: two slashes": "/work-falcon/zquill/lib",
    "compile flags: out of a public folder": "/home/zquill/inc",
    "account in a log": "proj-gannet",
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


@pytest.fixture
def planted(make_tree: Maker) -> SyntheticTree:
    """A run tree with every secret in the place that its key names."""
    tree = make_tree(launches=3, environs=(ENVIRON,), sizes=[1, 64], samples=2)
    secret = SECRETS.__getitem__
    failure = f"job error: on {secret('reason of a failure')}"
    stage = tree.fail_launch(3, ENVIRON, fail_reason=failure)
    (stage / "rfm_job.err").write_text(
        f"fatal: token {secret('last words of a log')}; sbatch -A {secret('account in a log')}\n"
    )
    for file in tree.path.rglob("output/**/run.json"):
        with content(file) as run:
            run["command"] = ["netpipe", secret("command line")]
            library = secret("MPI library string")
            run["mpi"]["library"] = f"Open MPI v4.1.4, package: Open MPI {library} Distribution"
            run["compiler"]["flags"] = (
                f"-O3 -I{secret('compile flags')} -L/usr/lib "
                f"-isystem{secret('compile flags: long option')} "
                f"-L/{secret('compile flags: two slashes')} "
                f"-I/usr/lib/../..{secret('compile flags: out of a public folder')}"
            )
            run["nodes"][0]["firmware"] = secret("what a node reports")
            run["points"][0]["parameters"] = secret("point of a workload")
    env = tree.path / "env"
    changes = {
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
    with content(env / "site-config.json") as site:
        site["partitions"][0] |= changes
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
    drained_node = {"host": "blackbird07", "state": "DRAINED"}
    drained_node["reason"] = f"bad fan [{secret('reason of a drained node')}]"
    partitions = {"smp": {"hosts": ["blackbird07"], "not_measured": [drained_node]}}
    (env / "nodes.json").write_text(json.dumps({"schema": 1, "partitions": partitions}))
    with (tree.path / "campaign.toml").open("a") as stream:
        stream.write(f"# {secret('campaign.toml')}\n")
    reason = f"no PVM in {secret('reason of a skip')} for account {secret('access: account')}"
    skipped = [{"case": "Ring/@local:smp+pvm", "reason": reason}]
    edit(tree.path / "state.json", skipped=skipped)
    return tree


def everything(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below a folder as text: tables as what they say, and what is packed in pages."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        content = file.read_bytes()
        yield name, f"{name}\n{content.decode('utf-8', errors='replace')}"
        if file.suffix == ".parquet":
            yield name, pl.read_parquet(file).write_json()
        for payload in re.findall(rb"base64,([A-Za-z0-9+/=]{16,})", content):
            yield name, base64.b64decode(payload).decode("utf-8", errors="replace")


@pytest.mark.nightly
def test_no_planted_secret_is_in_any_published_byte(
    planted: SyntheticTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_text = "".join(file.read_text() for file in planted.path.rglob("*") if file.is_file())
    secret_names = {name for name, secret in SECRETS.items() if secret in tree_text}
    assert secret_names == set(SECRETS) - {"annotation", "reason of a correction"}
    notes = tmp_path / "site-configs" / "local" / "annotations.yaml"
    notes.parent.mkdir(parents=True)
    notes.write_text(f"- from: 2026-11-21\n  text: ask {SECRETS['annotation']}\n")
    reports, public_folder = tmp_path / "reports", tmp_path / "public"
    bundle_path = bundle.build_bundle(planted.path)
    assert load(notes)[0].text == "ask [withheld]"
    NightWriter(reports).night(1, started="2026-11-20T01:00:00Z")
    first = publish.publish(bundle_path, reports, annotations_of_site=lambda _: load(notes))
    assert (first / "bundle" / "history" / "notes.parquet").is_file()
    correction = Correction("r1", f"see {SECRETS['reason of a correction']}")
    second = publish.publish(bundle_path, reports, correction)
    for revision in (first, second):
        public.copy_to_public(revision, public_folder)
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)  # pages read its annotations
    for folder in (reports, public_folder):
        write_pages(folder)
        page = (folder / "synthetic" / "local" / "history.html").read_text()
        assert "ask [withheld]" in page
        assert "history.html" in (folder / "index.html").read_text()
    documents = [*everything(bundle_path), *everything(reports), *everything(public_folder)]
    suffixes = {Path(name).suffix for name, _ in documents}
    assert suffixes >= {".html", ".md", ".json", ".svg", ".parquet"}
    secrets = [*SECRETS.values(), *PARTS, pseudonyms.ensure_site_key("local").decode()]
    leaks = {(secret, name) for name, text in documents for secret in secrets if secret in text}
    assert not leaks


def test_what_explains_a_change_stays(planted: SyntheticTree) -> None:
    bundle_path = bundle.build_bundle(planted.path)
    bundle_data = data.read_bundle(bundle_path)
    row = bundle_data.launches.filter(pl.col("status") == "passed").row(0, named=True)
    assert row["mpi_library"] == "Open MPI v4.1.4, package: Open MPI Distribution"
    digest = DIGEST_PATTERN
    flags = rf"-O3 -I{digest} -L/usr/lib -isystem{digest} -L{digest} -I{digest}"
    assert re.fullmatch(flags, row["compiler_flags"])
    values = {(subject, name): value for subject, name, value in known(bundle_path)}
    assert values[ENVIRON, "variable UCX_TLS"] == "self,sm"
    for name in ("PATH", "SITE_SWITCH"):
        assert re.fullmatch(DIGEST_PATTERN, values[ENVIRON, f"variable {name}"])
    assert values["", "variable UCX_NET_DEVICES of partition smp"] == "mlx5_0:1"
    assert re.fullmatch(DIGEST_PATTERN, values["", "access of partition smp"])
    note = json.loads((bundle_path / "env" / WITHHELD_FILE).read_text())
    assert set(note["looked_like_credentials"]) >= {
        "site-config.json partitions env_vars GITHUB_TOKEN",
        f"toolchains.json {ENVIRON} reframe env_vars OMPI_MCA_orte_aws_key",
        "cases.parquet reason",
    }


def test_a_number_of_a_private_variable_stays_in_other_texts() -> None:
    variables = [["SITE_LIMIT", "1048576"], ["SITE_PROJECT", "Falcon-9"], ["SITE_MODE", "private"]]
    toolchains = {ENVIRON: {"reframe": {"env_vars": variables}}}
    words = EnvironmentFiles({"toolchains.json": json.dumps(toolchains)}).private_words()
    assert set(words) - {""} == {"Falcon-9"}


def known(bundle_path: Path) -> list[facts.Fact]:
    bundle_data = data.read_bundle(bundle_path)
    passed_launches = bundle_data.launches.filter(pl.col("status") == "passed")
    placement = bundle_data.placement.select("launch", "rank", "cpus")
    bundle_manifest = manifest.verify(bundle_path)
    return facts.bundle_facts(bundle_path, bundle_manifest, passed_launches, placement)


def test_a_private_value_that_changes_shows_by_its_digest(planted: SyntheticTree) -> None:
    facts_before = set(known(bundle.build_bundle(planted.path)))
    file = planted.path / "env" / "toolchains.json"
    file.write_text(file.read_text().replace("on-falcon", "off-falcon"))
    changes = facts_before ^ set(known(bundle.build_bundle(planted.path)))
    assert {name for _, name, _ in changes} == {"variable SITE_SWITCH"}


def test_the_guide_names_what_stands_with_its_value() -> None:
    guide = (CAMPAIGNS.parent / "docs" / "bundle.md").read_text()
    section = guide.partition("## What stays at the site")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([A-Z_0-9]+_)`", section)) == set(TUNING_PREFIXES)


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
    fact = NAMES.redact_variable(name, value, "x")
    assert fact[0] == name
    assert fact[1] == value if is_open else re.fullmatch(DIGEST_PATTERN, fact[1])


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
    assert NAMES.redact_text(text) == text


def test_what_the_package_ships_stays() -> None:
    text = analysis.default_toml()
    assert public_files.public_thresholds_toml(text, NAMES) == text
    for file in CAMPAIGNS.glob("*.toml"):
        public_text = public_files.public_campaign_toml(file.read_text(), NAMES)
        assert parse_toml(public_text) == parse_toml(file.read_text())
        assert "#" not in public_text


@pytest.mark.parametrize("title", ["[/b] Nachtprüfung", "latency /bandwidth", "(A)/B", "24/7"])
def test_a_slash_before_a_word_of_a_title_begins_no_path(title: str) -> None:
    public_text = public_files.public_campaign_toml(f"title = {json.dumps(title)}\n", NAMES)
    assert parse_toml(public_text) == {"title": title}


def test_what_is_private_in_a_title_does_not_leave() -> None:
    title = "for alice of proj-quantum on nid7.acme.org: /home/alice, password=hunter22"
    public_text = public_files.public_campaign_toml(f"title = {json.dumps(title)}\n", NAMES)
    public_title = parse_toml(public_text)["title"]
    digest = DIGEST_PATTERN
    pattern = rf"for {digest} of {digest} on \S+: {digest}, password={digest}"
    assert re.fullmatch(pattern, public_title)
    assert "nid7" not in public_title and "/home" not in NAMES.redact_text("[/home]")


def test_comments_of_a_site_stay_with_it() -> None:
    text = 'a = 1.0 # ask alice\n"b # c" = 2 # hush\n# more\n'
    assert public_files.public_thresholds_toml(text, NAMES) == 'a = 1.0\n"b # c" = 2\n\n'
    assert public_files.public_campaign_toml("not = [toml", NAMES) == ""


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=9), st.lists(st.text(max_size=9) | st.booleans())))
def test_a_campaign_is_the_same_toml(variables: dict[str, Any]) -> None:
    names = Redactor(Pseudonyms((), b""))
    toml_value = public_files._toml_value(variables)
    assert parse_toml(f"x = {toml_value}") == {"x": variables}
    assert isinstance(names.redact_json(variables), dict)


@settings(max_examples=60)
@given(st.text(max_size=60))
@example("0@/0")
def test_to_look_twice_changes_nothing(text: str) -> None:
    public_text = NAMES.redact_text(text)
    assert NAMES.redact_text(public_text) == public_text


def test_what_people_write_for_everybody() -> None:
    assert withhold_private("by alice@acme.org, see /home/alice") == "by [withheld], see [withheld]"


def test_pseudonyms_in_fields() -> None:
    pseudonym = NAMES.pseudonym("open")
    ranks = [{"host": "open", "library": "open"}]
    assert NAMES.redact_json({"ranks": ranks, "hosts": ["open"], "reason": "on open"}) == {
        "ranks": [{"host": pseudonym, "library": "open"}],
        "hosts": [pseudonym],
        "reason": f"on {pseudonym}",
    }
    assert pseudonyms.HOST_FIELDS == ("host", "hosts", "hostname")


def test_a_file_in_env_that_is_no_json_stays(tree: SyntheticTree) -> None:
    (tree.path / "env" / "tools.json").write_text("{")
    bundle_path = bundle.build_bundle(tree.path)
    names = {file.name for file in (bundle_path / "env").iterdir()}
    assert names == {"host.json", "site-config.json"}
    with pytest.raises(UserError, match="missing"):
        manifest.verify(bundle_path / "env")


def test_the_name_of_a_library_stays_behind_its_path() -> None:
    text = "rank 1 runs /projects/alice/openmpi/lib/libmpi.so.40.30, not /home/alice/x"
    assert re.fullmatch(
        rf"rank 1 runs {DIGEST_PATTERN}/libmpi\.so\.40\.30, not {DIGEST_PATTERN}",
        NAMES.redact_text(text),
    )


@pytest.mark.parametrize(
    ("text", "public_text"),
    [
        ("ld: /home/x/My Files/lib/a.o: no such file", "ld: [withheld]: no such file"),
        ("cd '/home/x/My Files/secret' now", "cd '[withheld]' now"),
        ("srun -w nid001 -n 2 ./x", "srun -w [withheld] -n 2 ./x"),
        ("sbatch -A proj12 -x nid7 job.sh", "sbatch -A [withheld] -x [withheld] job.sh"),
        ("pw=hunter22", "pw=[withheld]"),
        ("-J//home/x/mod -I/usr/include/../../opt/y", "-J[withheld] -I[withheld]"),
        *((same, same) for same in ("mpirun -x UCX_TLS=rc", "grep -A 3 x", "a // b", "and/or")),
        *((same, same) for same in ("-L/usr/lib/gcc -I/usr/include/openmpi", "pwd: nothing")),
    ],
)
def test_paths_and_options_in_a_text(text: str, public_text: str) -> None:
    assert withhold_private(text) == public_text
