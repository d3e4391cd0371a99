"""`roundtrip site check` and `lock` on sites with a fault each."""

import os
import re
import shutil
from pathlib import Path

import pytest
from support.command import parse_answer
from support.json_files import replace_text
from support.programs import write_script
from typer.testing import CliRunner

from roundtrip.cli import app, setup
from roundtrip.errors import UserError
from roundtrip.sites import check, software
from roundtrip.sites.schedulers.slurm import facts as slurm
from roundtrip.sites.schedulers.slurm import site as slurm_site
from roundtrip.sites.site import Finding, Site


@pytest.fixture
def checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without checks and Spack."""
    shutil.rmtree(checkout / "checks")
    (checkout / "checks").mkdir()
    monkeypatch.delenv("SPACK_ENV", raising=False)
    monkeypatch.delenv("SPACK_ROOT", raising=False)
    monkeypatch.chdir(checkout)
    return checkout


def edit_data(checkout: Path, old: str, new: str) -> None:
    """Replace `old` in the one file that has it: the site's, or one of its bases."""
    sites = checkout / "site-configs"
    names = ("infiniband/site", "base/infiniband", "base/rdma", "base/ucx", "base/slurm")
    files = [sites / f"{name}.toml" for name in names]
    replace_text(next(file for file in files if old in file.read_text()), old, new)


def faults(checkout: Path) -> list[str]:
    findings = setup.collect_findings(Site("infiniband", checkout))
    return [item.detail for item in findings if item.verdict == "fault"]


@pytest.mark.nightly
def test_a_sound_site_has_no_fault_and_says_what_was_not_checked(checkout: Path) -> None:
    findings = check.check_site(Site("infiniband", checkout))
    assert [item for item in findings if item.verdict == "fault"] == []
    reasons = {item.subject: item.detail for item in findings if item.verdict == "not checked"}
    assert "no concretized Spack environment is active" in reasons["lock file"]
    assert "no toolchain is installed" in reasons["job scripts"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"'^login\d+\.infiniband\.example$'", "'.*'", "host name pattern '.*' fits any machine"),
        ("UCX_TLS = ", "UCX_OTHER = ", "UCX_TLS is not set"),
        ('fabric = "{fabric}"', "", "no fabric chosen"),
        ('binding = "core"', 'binding = ""', "no binding chosen"),
        ("max_jobs = 1", "max_jobs = 8", "max_jobs must be 1"),
        ("[values]", "\n" * 90 + "[values]", "site.toml has 102 lines: a site is data"),
    ],
)
def test_a_fault_of_reframes_part_is_named(
    checkout: Path, old: str, new: str, message: str
) -> None:
    edit_data(checkout, old, new)
    site = Site("infiniband", checkout)
    details = [
        item.detail for item in [*check.check_site_files(site), *check.check_partitions(site)]
    ]
    assert any(message in detail for detail in details), details


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('partition = "compute"', "partition = compute", "site.toml:12: not TOML: "),
        ('hca = "mlx5_0"', 'hcas = "mlx5_0"', "unknown placeholder {hca}; legal are checkout"),
        ('"infiniband"]', '"ib"]', "site.toml:4: base: there is no 'ib'; there are:"),
        ('interface = "{interface}"', 'nic = "{interface}"', "unknown key 'nic'; legal are across"),
        ("max_jobs = 1", 'max_jobs = "1"', "slurm.toml:42: partition.ib-rc.max_jobs: input"),
        ("[values]", "[value]", "site.toml:8: unknown key 'value'; legal are base, bind, "),
    ],
)
def test_a_site_that_does_not_load_is_one_fault_with_its_line(
    checkout: Path, old: str, new: str, fault: str
) -> None:
    edit_data(checkout, old, new)
    (detail,) = faults(checkout)
    assert detail.startswith(str(checkout / "site-configs"))
    assert fault in detail


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        (
            *("reframe.py", "def add(launcher):\n    register_launcher('mine')(launcher)\n"),
            "registers a launcher: put it into reframe/settings.py",
        ),
        ("environment", "if\n", "infiniband/environment: line "),
    ],
)
def test_a_file_that_no_site_may_have_is_named(
    checkout: Path, name: str, text: str, fault: str
) -> None:
    """A launcher of its own, and an `environment` that bash cannot read."""
    with (checkout / "site-configs/infiniband" / name).open("a") as file:
        file.write(text)
    (finding,) = check.check_site_files(Site("infiniband", checkout))
    assert finding.verdict == "fault"
    assert fault in finding.detail


def test_a_folder_in_place_of_reframes_file_is_no_site(checkout: Path) -> None:
    (checkout / "site-configs/mine/reframe.py").mkdir(parents=True)
    with pytest.raises(UserError, match="unknown site 'mine'; there are: infiniband, local, odin"):
        Site("mine", checkout)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("annotations.yaml", "- from: 2026-11-03\n  what: x\n", "2: annotations.0: unknown key"),
        ("analysis.toml", "[statistic]\n", "1: unknown key 'statistic'"),
    ],
)
def test_a_fault_in_notes_of_nights_is_named(
    checkout: Path, name: str, text: str, fault: str
) -> None:
    (checkout / "site-configs/infiniband" / name).write_text(text)
    (detail,) = faults(checkout)
    assert f"{name}:{fault}" in detail


def test_an_extra_that_no_check_knows_is_named(checkout: Path) -> None:
    """A site may be written in Python as well."""
    assignment = "site_configuration['systems'][0]['partitions'][0]['extras']['nic'] = 'eth0'\n"
    with (checkout / "site-configs/infiniband/reframe.py").open("a") as file:
        file.write(assignment)
    details = [item.detail for item in check.check_partitions(Site("infiniband", checkout))]
    assert "partition 'ib-rc': unknown key 'nic' in extras; legal are across, " in details[0]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("definitions.yaml", "- boosts:", "- boost:", "does not define 'boosts'"),
        ("packages.yaml", "mvapich:\n    require", "mvapich:\n    variants", "only a preference"),
        ("packages.yaml", "mpich:\n    require", "mpich:\n    prefer", "mpich needs `require:`"),
        ("concretizer.yaml", "enable: false", "enable: true", "stale hashes"),
        ("packages.yaml", "  all:", "  all: [", "not YAML"),
    ],
)
def test_a_fault_in_spacks_part(
    checkout: Path, file: str, old: str, new: str, message: str
) -> None:
    folder = checkout / "site-configs/infiniband/spack"
    replace_text(folder / file, old, new)
    try:
        details = [
            item.detail for item in software.check_spack_files(folder, checkout / "spack.yaml")
        ]
    except UserError as error:
        details = [str(error)]
    assert any(message in detail for detail in details), details


def test_a_toolchain_that_binds_nothing_is_named_where_partitions_say_that_ranks_are_bound(
    checkout: Path, spack_environment: Path
) -> None:
    edit_data(checkout, '"--cpu-bind=cores", ', "")
    details = [item.detail for item in check.check_partitions(Site("infiniband", checkout))]
    assert "toolchain 'openmpi41-boost174': its launcher binds no rank to a core" in details
    with (checkout / "site-configs/infiniband/site.toml").open("a") as file:
        file.write('\n[every_partition.extras]\nbinding = "none"\n')
    (finding,) = check.check_partitions(Site("infiniband", checkout))
    assert finding.verdict == "ok", finding.detail


def test_a_boost_external_must_name_its_mpi(checkout: Path) -> None:
    folder = checkout / "site-configs/infiniband/spack"
    with (folder / "packages.yaml").open("a") as file:
        file.write("  boost:\n    externals: [{spec: boost@1.81.0 +mpi, prefix: /opt/boost}]\n")
    (finding,) = software.check_spack_files(folder, checkout / "spack.yaml")
    assert "external 'boost@1.81.0 +mpi' does not name its MPI" in finding.detail


def test_a_site_is_compared_with_the_slurm_at_hand(
    checkout: Path, spack_environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site("infiniband", checkout)
    tools = tmp_path / "tools"

    def say(program: str, text: str) -> None:
        write_script(tools / program, f"cat <<'TEXT'\n{text}\nTEXT")

    def compared() -> list[Finding]:
        return slurm_site.check_site(site, slurm.collect_cluster())

    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    say("srun", "MPI plugin types are...\n\tnone\n\tpmi2")
    say("sinfo", "batch*|64|2|16|(null)|b[1-64]\ngpu|2|1|8|(null)|g[1-2]")
    findings = compared()
    assert findings[0].detail == "there is no partition 'compute'; there are: batch, gpu"
    say("sinfo", "compute*|12|2|16|ib|c[1-12]\ncompute*|2|1|24|ib|c[13-14]")
    details = [item.detail for item in compared()]
    assert "partition 'ib-rc': 16 nodes, and sinfo has 14" in details
    assert "partition 'ib-rc': 32 cores a node, and sinfo has 24" in details
    assert "openmpi is started with --mpi=pmix, and srun has none, pmi2" in details
    say("srun", "MPI plugin types are...\n\tpmi2\n\tpmix")
    say("sinfo", "compute|128|2|24|ib|c[1-128]")
    faults = [finding for finding in compared() if finding.verdict != "ok"]
    assert faults == []


@pytest.mark.nightly
def test_a_fault_sets_the_exit_status(checkout: Path, spack_environment: Path) -> None:
    run = CliRunner()
    lock_result = run.invoke(app, ["site", "lock"])
    assert lock_result.exit_code == 0
    assert re.search(r"mvapich2-23-boost186 +rjqmax5", lock_result.output)
    edit_data(checkout, "max_jobs = 1", "max_jobs = 2")
    check_result = run.invoke(app, ["site", "check", "infiniband", "--json"])
    assert check_result.exit_code == 1
    findings = parse_answer("site-check", check_result.stdout)["findings"]
    faults = [finding["detail"] for finding in findings if finding["verdict"] == "fault"]
    assert any("max_jobs must be 1" in detail for detail in faults)
    refusal = run.invoke(app, ["site", "check", "nowhere"])
    assert isinstance(refusal.exception, UserError)


def test_lines_are_written_only_of_live_findings() -> None:
    result = CliRunner().invoke(app, ["site", "check", "local", "--write"])
    assert isinstance(result.exception, UserError)
    assert str(result.exception).startswith("--write goes with --live")
