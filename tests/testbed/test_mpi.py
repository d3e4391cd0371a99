"""Real MPI jobs across the WAN: all ranks of one job, on the requested hosts, no faster than light.

An MPI that finds a way around the emulated network, or that silently starts N jobs of one rank,
would give plausible numbers; that is why number, hosts and lower bound are asserted.
"""

import re
import shutil
import subprocess

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.live]

SOURCE = "tests/testbed/mpi/pingpong.cpp"
MESSAGES = 30
YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}
# PMIx 4.2.2 lets ranks leave MPI_Init that others have only begun; the last one does not, and
# serves one rank on each node only.
OPEN_MPI = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,vader,self",
    **YIELD,
    "OMPI_MCA_pmix_base_async_modex": "1",
}
MPICH = {"UCX_TLS": "tcp,self,posix,sysv"}


@pytest.fixture(scope="module")
def build(cluster):
    def compile_with(compiler):
        if not shutil.which(compiler):
            pytest.skip(f"no {compiler}: apt-get install libopenmpi-dev libmpich-dev")
        program = cluster.share / f"pingpong.{compiler}"
        if not program.exists():
            command = [compiler, "-O1", "-std=c++20", "-o", str(program), SOURCE]
            subprocess.run(command, check=True)
        return program

    return compile_with


@pytest.fixture(params=[0, 4], ids=["no-delay", "4ms"])
def rtt_ms(cluster, request):
    cluster.run_checked("wan", "--rtt", f"{request.param}ms")
    yield request.param
    cluster.run_checked("wan", "--rtt", "0")


def run(cluster, vcluster, variables, srun, attempts=1):
    """The fields of the line that the ping-pong prints."""
    job = vcluster(cluster.home, cluster.name, variables)
    for attempt in range(attempts):
        try:
            output = job.run_checked(
                "exec", "srun", "-Q", "-t1", "--ntasks-per-node=1", *srun, timeout=20
            )
            return dict(re.findall(r"(\w+)=(\S+)", output))
        except subprocess.TimeoutExpired:
            job.run("exec", "scancel", "--signal=KILL", "-u", "root")
            if attempt + 1 == attempts:
                raise
    raise AssertionError("no attempt")


def check(result, hosts, rtt_ms):
    assert result["np"] == str(len(hosts))
    assert result["hosts"] == ",".join(hosts)
    assert result["shared"] == "1"
    assert result["ring"] == "ok"
    assert float(result["min_us"]) >= rtt_ms * 1000 / 2
    assert int(result["packets"]) >= MESSAGES  # over the virtual wire, not by shared memory


def test_open_mpi_with_pmix_on_all_nodes(cluster, vcluster, build, rtt_ms):
    program = build("mpicxx.openmpi")
    result = run(cluster, vcluster, OPEN_MPI, ["-N4", "--mpi=pmix", str(program), str(MESSAGES)])
    check(result, ["a1", "a2", "b1", "b2"], rtt_ms)


# MPICH 4.0 with UCX at times hangs in MPI_Finalize (its pull request 6596): hence attempts.
@pytest.mark.parametrize("hosts", [["a1", "a2"], ["a1", "b1"]], ids="-".join)
def test_mpich_with_pmi2_in_a_cluster_and_across(cluster, vcluster, build, rtt_ms, hosts):
    program = build("mpicxx.mpich")
    srun = ["-N2", "-w", ",".join(hosts), "--mpi=pmi2", str(program), str(MESSAGES)]
    result = run(cluster, vcluster, MPICH, srun, attempts=3)
    check(result, hosts, rtt_ms if hosts == ["a1", "b1"] else 0)


def test_mpich_without_its_pmi_is_noticed_by_the_number_of_ranks(cluster, vcluster, build):
    """The trap itself: under pmix, MPICH starts as many jobs of one rank, without an error."""
    program = build("mpicxx.mpich")
    job = vcluster(cluster.home, cluster.name, MPICH)
    process = job.run("exec", "srun", "-Q", "-t1", "-N2", "--mpi=pmix", str(program), timeout=30)
    assert process.returncode != 0
    assert "np=1" in process.stdout
