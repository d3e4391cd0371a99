"""`testbed/card` with stand-ins for Spack, the cluster and roundtrip: which commands it runs."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import CHECKOUT, run_git, run_program, write_script
from support.virtual import describe_missing_namespaces

from roundtrip.measure import campaign_file

SPACK = """\
echo "spack $*" >> {log}
case "$* " in
  *' python '*) echo {store};;
  *' find '*) echo "openmpi abc1234"; echo "roundtrip-workloads def5678";;
  *' install '*) [ ! -e {broken} ] || exit 1
    mkdir -p {store}; echo binary > {store}/program; echo view >> {view};;
esac
"""
LOCK = """cat <<'END'
ok           one build per MPI: mpich@4.0.2 hwpfuvk, openmpi@4.1.4 3srm2eg
 environment         concrete spec  MPI                    Boost
 openmpi41-boost174  r6xwnoa        openmpi@4.1.4 3srm2eg  boost@1.74.0
 mpich40-boost181    5g3zzau        mpich@4.0.2 hwpfuvk    boost@1.81.0
 openmpi41-boost181  rutpypg        openmpi@4.1.4 3srm2eg  boost@1.81.0
END
"""
CLUSTER = 'case "$*" in *reframe*) mkdir -p {runs}; cp {printed} {runs}/card.txt;; esac\n'
#: A case of each program, as ReFrame prints it; the colours are those of a terminal.
PASSED = """NetPIPE %placement=one-per-node %variants=five %mode=pingpong /dd0f8b72
RingNetwork %placement=one-per-node %transport=mpi %link=fast /ea8d035f
DDTBench %placement=one-per-node %app=MILC_su3_zd %sizes=largest /e832d940
Ring %placement=shared-memory %transport=mpi /dfad10c3
Ring %placement=shared-memory %transport=all /5c7093b4
DDTBench %placement=one-per-node %app=WRF_x_vec %sizes=largest /e832d943
NetPIPEReference %placement=one-per-node /e832d944
OSU %placement=one-per-node %benchmark=latency /e832d945
OSUGroup %placement=one-per-node %benchmark=barrier %ranks=2 /e832d946
NPB %placement=one-per-node %benchmark=CG %problem_class=S %source=upstream %ranks=2 /e832d947
"""
OTHER = 'echo "{name} $*" >> {log}\n[ ! -e {stale} ] || {{ rm {stale}; exit 1; }}\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the card, and stand-ins that write their commands to ``log``."""
    folder = tmp_path / "checkout"
    shutil.copytree(CHECKOUT / "testbed" / "cardlib", folder / "testbed" / "cardlib")
    shutil.copy(CHECKOUT / "testbed" / "card", folder / "testbed" / "card")
    (folder / "workloads").mkdir()
    (folder / "campaigns").mkdir()
    shutil.copy(CHECKOUT / "campaigns" / "card.toml", folder / "campaigns" / "card.toml")
    (folder / "workloads" / "program.cpp").write_text("int main() {}\n")
    places = {
        "log": tmp_path / "log",
        "store": tmp_path / "store",
        "broken": tmp_path / "broken",
        "stale": tmp_path / "stale",
        "view": folder / "view",
        "runs": folder / "runs",
        "printed": tmp_path / "printed",
    }
    lines = [f"[ \033[32m      OK\033[0m ] ( 1/10) {case}" for case in PASSED.splitlines()]
    places["printed"].write_text("\n".join(lines))
    for file, text in {
        tmp_path / "spack" / "bin" / "spack": SPACK.format(**places),
        folder / "testbed" / "vcluster": (OTHER + CLUSTER).format(
            name="vcluster", **places | {"stale": "/-"}
        ),
        folder / ".venv" / "bin" / "roundtrip": OTHER.format(name="roundtrip", **places) + LOCK,
    }.items():
        write_script(file, text)
    run_git(folder, "init", "--quiet")
    run_git(folder, "add", "workloads")
    run_git(folder, "commit", "--quiet", "-m", "one")
    return folder


def card(checkout: Path, *words: str, spack: bool = True) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("SPACK")}
    environ.pop("ROUNDTRIP_SITE_SPACK", None)
    environ["XDG_CACHE_HOME"] = str(checkout.parent / "cache")
    if spack:
        environ["SPACK_ROOT"] = str(checkout.parent / "spack")
    command = [checkout / "testbed" / "card", *words]
    return run_program(*command, env=environ)


def commands(checkout: Path) -> list[str]:
    """What the stand-ins were called with: the program and the first word that is no option."""
    calls = []
    for line in (checkout.parent / "log").read_text().splitlines():
        program, *words = line.split(" ")
        verbs = ("concretize", "install", "find", "buildcache", "python", "env", "lock")
        verbs += ("up", "exec", "down")
        calls.append(f"{program} {next(word for word in words if word in verbs)}")
    return calls


def test_without_spack_it_says_how_to_get_one(checkout: Path) -> None:
    process = card(checkout, spack=False)
    assert process.returncode == 2
    assert process.stderr.startswith("card: no Spack: set SPACK_ROOT")
    assert "git clone --depth=2 -b v1.1.0" in process.stderr


def test_it_installs_then_launches_and_times_each_step(checkout: Path) -> None:
    process = card(checkout, "--slice", "openmpi@4.1.4,1.81.0")

    assert process.returncode == 0, process.stderr
    assert commands(checkout) == [
        *("roundtrip lock", "roundtrip lock", "roundtrip lock"),
        *("spack install", "spack python", "spack find", "spack buildcache", "spack buildcache"),
        *("vcluster up", "vcluster exec", "vcluster exec", "vcluster down"),
    ]
    log = (checkout.parent / "log").read_text()
    assert "install roundtrip-workloads ^openmpi@4.1.4 ^boost@=1.81.0\n" in log
    assert "sbatch --wait" in log
    assert f"--share {checkout.parent / 'store'}" in log
    steps = process.stdout.split("minutes   of CPU")[1].splitlines()[1:]
    assert len(steps) == 6
    assert "FAILED" not in process.stdout


def test_a_slice_launches_its_toolchain_only(checkout: Path) -> None:
    assert card(checkout, "--slice", "openmpi@4.1.4,1.81.0").returncode == 0
    log = (checkout.parent / "log").read_text()
    assert "-p '^openmpi41-boost181$'" in log
    assert "OSU%" not in log
    campaign = checkout / "runs" / "card-openmpi41-boost181.toml"
    assert f"campaigns/nightly.sbatch {campaign};" in log
    checks = campaign_file.load_campaign(campaign).checks
    assert len(checks) == len(
        campaign_file.load_campaign(CHECKOUT / "campaigns" / "card.toml").checks
    )
    assert {check.toolchains for check in checks} == {("openmpi41-boost181",)}


def test_the_whole_launches_every_toolchain_and_what_others_wrote(checkout: Path) -> None:
    assert card(checkout).returncode == 0
    log = (checkout.parent / "log").read_text()
    assert "-p '^" not in log
    assert "OSU%" in log
    assert "campaigns/nightly.sbatch card;" in log
    assert "-S limit=120 --max-retries=2" in log, "a launch that hangs ends, and is repeated"


def test_a_slice_that_is_no_toolchain_fails_before_any_install(checkout: Path) -> None:
    process = card(checkout, "--slice", "openmpi@4.1.4,1.86.0")
    assert process.returncode == 1
    assert process.stderr == (
        "card: no toolchain is openmpi@4.1.4,1.86.0 (as openmpi@4.1.4,1.81.0): "
        "openmpi41-boost174, mpich40-boost181, openmpi41-boost181\n"
    )
    assert "install" not in (checkout.parent / "log").read_text()


def test_a_program_that_was_not_launched_fails_the_card(checkout: Path) -> None:
    """ReFrame calls it passed if a check has another name, or nothing of it is installed."""
    output_file = checkout.parent / "printed"
    lines = [line for line in output_file.read_text().splitlines() if "DDTBench" not in line]
    lines.append("[     FAIL ] (1/9) DDTBench %sizes=largest %app=MILC")
    output_file.write_text("\n".join(lines))
    process = card(checkout, "--slice", "openmpi@4.1.4,1.81.0")
    assert process.returncode == 1
    assert process.stderr.startswith("card: no case passed of DDTBench%")
    assert "sbatch" not in (checkout.parent / "log").read_text()


@pytest.mark.nightly
def test_every_program_that_the_card_looks_for_is_a_case_of_a_check(tmp_path: Path) -> None:
    """Else the whole card fails after all cases have passed."""
    reframe = [Path(sys.executable).with_name("reframe"), "-C", "reframe/settings.py"]
    options = ["-c", "checks", "-R", "-l", "--skip-system-check", "--skip-prgenv-check"]
    options += ["--prefix", str(tmp_path)]
    process = run_program(
        *reframe, *options, cwd=CHECKOUT, env={**os.environ, "ROUNDTRIP_RUNS": str(tmp_path)}
    )
    assert process.returncode == 0, process.stderr
    lines = [line for line in process.stdout.splitlines() if line[:2] == "- "]
    cases = [line[2:].replace(" %", "%") for line in lines]
    patterns = runpy.run_path(str(CHECKOUT / "testbed" / "cardlib" / "pipeline.py"))["ALL_CHECKS"]
    assert [
        pattern for pattern in patterns if not any(re.match(pattern, case) for case in cases)
    ] == []


def test_a_stale_lock_file_is_concretized_anew(checkout: Path) -> None:
    (checkout.parent / "stale").touch()
    assert card(checkout).returncode == 0
    assert commands(checkout)[:3] == ["roundtrip lock", "spack concretize", "roundtrip lock"]


def test_workloads_are_kept_by_the_sources_that_they_were_built_from(checkout: Path) -> None:
    cache = checkout.parent / "cache" / "roundtrip" / "card"
    card(checkout)
    cache_folders = {folder.name for folder in cache.iterdir()}
    assert {"packages", "settings"} < cache_folders
    assert len(cache_folders) == 3
    mirrors = json.loads((cache / "settings" / "mirrors.yaml").read_text())["mirrors"]
    assert set(mirrors) == {"card", "card-workloads"}

    (checkout / "workloads" / "program.cpp").write_text("int main() { return 1; }\n")
    (checkout.parent / "log").unlink()
    card(checkout)  # what git does not know goes into no cache, and comes from none
    assert {folder.name for folder in cache.iterdir()} == cache_folders
    pushes = [line for line in (checkout.parent / "log").read_text().splitlines() if "push" in line]
    assert len(pushes) == 1
    assert pushes[0].endswith("/packages /abc1234")
    mirrors = json.loads((cache / "settings" / "mirrors.yaml").read_text())["mirrors"]
    assert set(mirrors) == {"card"}


def test_relative_folders_are_those_of_the_folder_that_it_is_called_in(checkout: Path) -> None:
    cache, prefix = (os.path.relpath(checkout.parent / name) for name in ("mine", "second"))
    process = card(checkout, "--slice", "openmpi@4.1.4,1.81.0", "--cache", cache)
    assert process.returncode == 0, process.stderr
    url = (checkout.parent / "mine" / "packages").as_uri()
    assert f"{url} /abc1234\n" in (checkout.parent / "log").read_text()
    assert card(checkout, "--cache", cache, "--prefix", prefix).returncode == 0
    settings = json.loads((checkout.parent / "mine/settings-second/config.yaml").read_text())
    assert settings["config"]["install_tree"]["root"] == str(checkout.parent / "second")


def test_a_step_that_fails_ends_it_with_a_line(checkout: Path) -> None:
    (checkout.parent / "broken").touch()
    process = card(checkout)
    assert process.returncode == 1
    assert "card: failed: " in process.stderr
    assert process.stdout.rstrip().endswith("FAILED")
    assert commands(checkout)[-1] == "spack install"


@pytest.mark.skipif(
    bool(describe_missing_namespaces()), reason=describe_missing_namespaces() or "-"
)
def test_the_second_prefix_is_empty_and_the_first_out_of_sight(checkout: Path) -> None:
    process = card(checkout, "--second")

    assert process.returncode == 0, process.stdout + process.stderr
    log = (checkout.parent / "log").read_text()
    second_log = log.split("vcluster --name card down")[1]
    assert "--cache-only" in second_log
    settings = checkout.parent / "cache" / "roundtrip" / "card" / "settings-second"
    root = json.loads((settings / "config.yaml").read_text())["config"]["install_tree"]["root"]
    assert f"--share {root}" not in log.split("vcluster --name card down")[0]
    assert "buildcache" not in second_log
    assert "sbatch" not in second_log
    assert "--name card2 up" in second_log  # beside the first cluster, if that is up again
    assert (checkout / "view").read_text() == "view\n"  # the checkout's is the first one's still


def test_a_package_that_lacks_is_named_before_anything_is_built(checkout: Path) -> None:
    site = checkout / "site-configs" / "virtual-spack"
    site.mkdir(parents=True)
    (site / "apt-packages.txt").write_text("# tools\nbash\nno-such-package # why\n")
    (checkout / "testbed" / "apt-packages.txt").write_text("nor-this-one\n")
    process = card(checkout)
    assert process.returncode == 2
    assert process.stderr.splitlines() == [
        "card: not installed: no-such-package nor-this-one",
        "  apt-get install no-such-package nor-this-one",
    ]
    assert not (checkout.parent / "log").exists()
