"""The shipped sites load, are sound, and render the job scripts of `golden/`.

`ROUNDTRIP_UPDATE_GOLDEN=1 pytest tests/site_configs` writes `golden/` anew: read the difference.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.software import replace_osu_by_netpipe

from roundtrip.measure import campaign_file
from roundtrip.sites import check, data, programming_environments, site_file, software
from roundtrip.sites import lock as locks
from roundtrip.sites.site import Case, Site
from roundtrip.sites.toolchains.spec import read_catalogue
from roundtrip.studies.osu.derived import BENCHMARKS

CHECKOUT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
SITES = ("infiniband", "roce", "spack", "odin", "local", "virtual", "simulated")
#: Checks with parameters.
ONE_PER_NODE = ("NetPIPE", "placement=one-per-node", "mode=pingpong", "variants=five")
IN_ONE_NODE = ("NetPIPE", "placement=shared-memory", "mode=pingpong", "variants=five")
ON_ONE_SOCKET = ("NetPIPEOnSockets", "placement=one-socket", "mode=pingpong", "variants=raw")
ON_TWO_SOCKETS = ("NetPIPEOnSockets", "placement=two-sockets", "mode=pingpong", "variants=raw")
OSU_ONE_PER_NODE = ("OSU", "placement=one-per-node", "benchmark=latency")
OSU_IN_ONE_NODE = ("OSU", "placement=shared-memory", "benchmark=latency")
OSU_GROUP = ("OSUGroup", "placement=one-per-node", "benchmark=allreduce", "ranks=2")
OSU_AT_SCALE = ("OSUAtScale", "placement=all-cores", "benchmark=allreduce", "scale=nodes_16")
RING_OVERSUBSCRIBED = ("Ring", "placement=oversubscribed", "transport=mpi")
RING_ONE_PER_NODE = ("RingNetwork", "placement=one-per-node", "transport=mpi", "link=fast")
RING_HYBRID = ("RingNetwork", "placement=hybrid", "transport=mpi", "link=fast")
ACROSS_THE_WAN = ("NetPIPEWan", "mode=pingpong", "variants=five", "wan_rtt=4")
#: Cases whose scripts are kept: checks by (site, partition, environment).
KEPT = {
    ("infiniband", "ib-rc", "openmpi50-boost186"): (
        *(ONE_PER_NODE, IN_ONE_NODE, ON_ONE_SOCKET, ON_TWO_SOCKETS, OSU_ONE_PER_NODE),
        *(OSU_GROUP, OSU_AT_SCALE, RING_OVERSUBSCRIBED, RING_HYBRID),
    ),
    ("infiniband", "ib-dc", "mpich43-boost181"): (ONE_PER_NODE,),
    ("infiniband", "ib-ud", "mvapich2-23-boost174"): (ONE_PER_NODE,),
    ("infiniband", "ipoib-tcp", "openmpi41-boost174"): (ONE_PER_NODE,),
    ("roce", "roce-rc", "mvapich2-23-boost186"): (ONE_PER_NODE, OSU_ONE_PER_NODE),
    ("roce", "ethernet-tcp", "mvapich40-boost181"): (ONE_PER_NODE, RING_HYBRID),
    ("spack", "smp", "mpich43-boost186"): (IN_ONE_NODE, OSU_IN_ONE_NODE, RING_OVERSUBSCRIBED),
    ("spack", "smp", "openmpi41-boost186"): (IN_ONE_NODE, RING_OVERSUBSCRIBED),
    ("local", "smp", "openmpi41-boost181"): (IN_ONE_NODE, OSU_IN_ONE_NODE, RING_OVERSUBSCRIBED),
    ("local", "smp", "mpich50-boost181"): (IN_ONE_NODE, RING_OVERSUBSCRIBED),
    ("virtual", "clusterA", "openmpi50-tcp"): (ONE_PER_NODE, OSU_ONE_PER_NODE, RING_HYBRID),
    ("virtual", "clusterB", "mpich40-ucx"): (IN_ONE_NODE,),
    ("virtual", "grid", "mpich50-udp"): (ACROSS_THE_WAN,),
    ("simulated", "odin", "smpi-boost181"): (ONE_PER_NODE,),
    ("simulated", "grid", "smpi-boost181"): (RING_ONE_PER_NODE,),
    ("simulated", "hdr", "smpi-boost174"): (ONE_PER_NODE,),
}


@pytest.fixture(autouse=True)
def ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the account nor the user that runs the tests may get into a golden script."""
    monkeypatch.delenv("ROUNDTRIP_ACCOUNT", raising=False)


@pytest.mark.parametrize("name", SITES)
def test_a_site_loads_without_an_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SPACK_ENV", "SPACK_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    site = Site(name, CHECKOUT)
    findings = [*check.check_site_files(site), *check.check_partitions(site)]
    assert [item.detail for item in findings if item.verdict == "fault"] == []


@pytest.mark.parametrize("name", ["infiniband", "roce"])
def test_all_toolchains_of_the_lock_are_offered_where_they_can(
    name: str, spack_environment: Path
) -> None:
    site = Site(name, CHECKOUT)
    assert len(site.toolchains) == 15
    for partition, settings in site.partitions.items():
        is_offered = settings["extras"]["transport"] in ("rc", "ud")
        environs = {environ for environ in settings["environs"] if "mvapich2" in environ}
        assert len(environs) == (3 if is_offered else 0), partition
        assert len(settings["environs"]) == (15 if is_offered else 12)


@pytest.mark.nightly
def test_odin_documents_the_study_and_runs_nothing() -> None:
    site = Site("odin", CHECKOUT)
    (partition,) = site.partitions.values()
    assert partition["extras"]["nodes"] == 128
    assert site.list_tests().cases == []


def test_the_recorded_lock_fits_the_infiniband_site(spack_environment: Path) -> None:
    findings = software.check_lock_file(Site("infiniband", CHECKOUT))
    assert [item.verdict for item in findings] == ["ok"] * 4, findings


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["infiniband", "roce", "spack"])
def test_golden_scripts(name: str, spack_environment: Path) -> None:
    _install_only(spack_environment, {environ for site, _, environ in KEPT if site == name})
    compare_with_golden(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["local", "virtual", "simulated"])
def test_golden_without_spack(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path))
    for mpi in read_catalogue().mpis:
        boosts = ("174", "181") if name == "simulated" else ("181",)
        folders = [tmp_path / f"{mpi}-boost{boost}" for boost in boosts]
        for folder in (*folders, tmp_path / "osu" / mpi):
            folder.mkdir(parents=True)
        for folder in folders:
            (folder / "toolchain.json").touch()
        for benchmark in BENCHMARKS:
            (tmp_path / "osu" / mpi / f"osu_{benchmark}").touch()
    compare_with_golden(name, str(tmp_path))


def test_the_script_of_a_pair_names_its_nodes(
    spack_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes of two switches, where the partition asks for one: they must not wait for it."""
    pairs = {"pair_round": 3, "pair_night_round": 1, "hosts": [["cn01", "cn04"], ["cn02", "cn03"]]}
    monkeypatch.setenv("ROUNDTRIP_PAIRS", json.dumps(pairs))
    _install_only(spack_environment, {"openmpi50-boost186"})
    site = Site("infiniband", CHECKOUT)
    all_cases = site.list_tests([str(site.checks["NetPIPE"])]).cases
    second_pair = (*ONE_PER_NODE, "pair=1")
    case = _case(all_cases, "ib-rc", "openmpi50-boost186", second_pair)
    (script,) = check.render_job_scripts(site, [case])
    _compare(_without_options(script.text), GOLDEN / "pairs" / script.name)


def compare_with_golden(name: str, toolchain_folder: str = "") -> None:
    site = Site(name, CHECKOUT)
    names = ("NetPIPE", "NetPIPEOnSockets", "NetPIPEWan", "OSU", "Ring")
    all_cases = site.list_tests(sorted({str(site.checks[name]) for name in names})).cases
    cases = [
        _case(all_cases, partition, environ, kept_check)
        for (site_name, partition, environ), kept_checks in KEPT.items()
        for kept_check in kept_checks
        if site_name == name
    ]
    for script in check.render_job_scripts(site, cases):
        text = _without_options(script.text)
        if toolchain_folder:
            text = text.replace(toolchain_folder, "@TOOLCHAINS@")
        _compare(text, GOLDEN / name / script.name)
    assert len(list((GOLDEN / name).glob("*.sh"))) == len(cases)


def _compare(text: str, file: Path) -> None:
    if os.environ.get("ROUNDTRIP_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"{file}: see this file's docstring"


@pytest.mark.nightly
def test_a_site_check_renders_a_script_for_each_mpi(
    spack_environment: Path, tmp_path: Path
) -> None:
    _install_only(
        spack_environment, {"openmpi41-boost186", "mpich43-boost186", "mvapich40-boost186"}
    )
    findings = check.check_site(Site("spack", CHECKOUT), tmp_path / "scripts")
    finding = next(item for item in findings if item.subject == "job scripts")
    assert finding.verdict == "ok", finding
    names = {file.name for file in (tmp_path / "scripts").glob("NetPIPE-shared-memory@smp+*")}
    mpis = {re.split("[+-]", name.split("@")[1])[1][:5] for name in names}
    assert mpis == {"openm", "mpich", "mvapi"}


@pytest.mark.nightly
def test_under_slurm_every_check_ends_a_launch_as_soon_as_a_rank_fails(
    spack_environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two sites: one has sockets, OSU and NetPIPE's own program, the other has a WAN."""
    _install_only(spack_environment, {"openmpi50-boost186", "mpich43-boost186"})
    replace_osu_by_netpipe(spack_environment, "mpich43-boost186")
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path))
    (tmp_path / "mpich50-boost181").mkdir()
    (tmp_path / "mpich50-boost181" / "toolchain.json").touch()
    over_wan = {name: [{}] for name in ("NetPIPEWan", "NPBWan", "NPBWanAtScale")}
    scripts: dict[str, str] = {}
    for site_name, selection in (("infiniband", "ends"), ("virtual", over_wan)):
        site = Site(site_name, CHECKOUT)
        cases: dict[str, Case] = {}
        for case in site.list_tests(selection=selection).cases:
            cases.setdefault(case.check, case)
        for script in check.render_job_scripts(site, list(cases.values())):
            scripts[script.case.check] = script.text
    assert set(scripts) == set(site.checks) - {"NPBSimulated", "NPBHostSpeeds"}
    for name, text in scripts.items():
        (launch,) = re.findall(r"^.*\bsrun .*$", text, re.MULTILINE)
        assert "srun --mpi=" in launch and " --kill-on-bad-exit=1 " in launch, name


def _install_only(environment: Path, names: set[str]) -> None:
    """Few toolchains, because ReFrame's listing takes its time for each."""
    lock = locks.read_lock(environment / "spack.lock")
    for item in programming_environments.toolchains_in_lock(lock):
        if item.name not in names:
            Path(programming_environments.prefix_of_spec(item.root, lock)).rmdir()


def _case(cases: list[Case], partition: str, environ: str, check: tuple[str, ...]) -> Case:
    parameters = {tuple(item.split("=")) for item in check[1:]}
    return next(
        case
        for case in cases
        if (case.check, case.partition, case.environ) == (check[0], partition, environ)
        and parameters <= set(case.parameters)
    )


def _without_options(text: str) -> str:
    """The workload's own options are the check's affair, not the site's."""
    root_export = r"^export OMPI_ALLOW_RUN_AS_ROOT.*\n"
    text = re.sub(root_export, "", text, flags=re.MULTILINE)
    return re.sub(r"(/netpipe) --.*$", r"\1 @OPTIONS@", text, flags=re.MULTILINE)


WINDOW = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win window;
  int* memory;
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, node, &memory, &window);
  int rank;
  MPI_Comm_rank(node, &rank);
  if (rank == 0) printf("shared\\n");
  MPI_Win_free(&window);
  return MPI_Finalize();
}
"""


def site(name: str) -> data.SiteData:
    return site_file.read_site_data(CHECKOUT / "site-configs" / name / "site.toml", CHECKOUT)


@pytest.mark.parametrize("name", ["infiniband", "roce"])
def test_a_hard_limit_of_pinned_memory_ends_no_build(name: str) -> None:
    """ReFrame runs `prepare` before builds as well, and ends at the first error."""
    if not shutil.which("setpriv") or not shutil.which("prlimit"):
        pytest.skip("no setpriv and prlimit: apt-get install util-linux")
    wrapper = ["prlimit", "--memlock=1048576:2097152"]
    if os.geteuid() == 0:  # root may exceed a hard limit
        wrapper += ["setpriv", "--bounding-set=-sys_resource"]
    for partition in site(name).partition.values():
        script = "\n".join(["set -e", *partition.prepare, "ulimit -S -l"])
        process = subprocess.run([*wrapper, "bash", "-c", script], capture_output=True, text=True)
        assert process.stderr == ""
        assert process.stdout == "2048\n"


def test_a_window_in_shared_memory_opens_with_the_sites_variables(tmp_path: Path) -> None:
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("no mpicc.openmpi: apt-get install libopenmpi-dev openmpi-bin")
    source, program = tmp_path / "window.c", tmp_path / "window"
    source.write_text(WINDOW)
    subprocess.run(["mpicc.openmpi", source, "-o", program], check=True, timeout=60)
    root_variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    process = subprocess.run(
        ["mpirun.openmpi", "--oversubscribe", "-n", "2", program],
        env={**os.environ, **root_variables, **site("infiniband").launch["openmpi"].variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.stdout == "shared\n", process.stderr


def test_a_site_without_pvm_loses_no_more_than_pvm() -> None:
    plans = campaign_file.load_campaign(CHECKOUT / "campaigns" / "ring.toml").checks
    assert {plan.name for plan in plans} == {"Ring", "RingNetwork"}
    assert {plan.parameters["transport"] for plan in plans} == {("all",)}
    check = (CHECKOUT / "checks" / "ring" / "ring.py").read_text()
    assert "+pvm" not in check
