"""A launch that ran something else, or elsewhere, than requested fails, and names both sides."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.conftest import ENVIRON, Maker
from support.bundles import read_tree
from support.json_files import content, edit
from support.launches import MPI_LIBRARY_FILE, MPICH_VERSION_TEXT, RANK_IDENTITY
from support.synthetic import SyntheticTree

from roundtrip.content.blocks import plain_text
from roundtrip.errors import UserError
from roundtrip.measure import identity
from roundtrip.measure.disclosure import DIGEST_PATTERN
from roundtrip.measure.launches import scan_launches
from roundtrip.report.sections import launches
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import Allocation

CASE = {
    "simulated": False,
    "environ": "openmpi41-tcp",
    "scheduler": "slurm",
    "mpi": {"family": "openmpi", "version": "4.1", "says": "Open MPI v"},
    "links": MPI_LIBRARY_FILE,
    "extras": {"transport": "rc", "device": "mlx5_0:1"},
}
#: Of a launch whose transport nobody declares.
PLAIN_CASE = {**CASE, "extras": {}}
SLURM = schedulers.SCHEDULERS[0]
JOB = Allocation(("a1", "a2"), "head", scheduler="Slurm")
MOVED = 100_000_000
HOST = "thunderbolt.example.org"


def run(*ranks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """run.json of a launch with one rank on each of two nodes, as far as it is compared."""
    identities = [
        {"host": host, "ranks": [number], "slurm_node": host, **RANK_IDENTITY, **change}
        for number, (host, change) in enumerate(zip(("a1", "a2"), ranks or ({}, {}), strict=True))
    ]
    node = {"boot": "one", "adapters": [], "sent_bytes": {"eth1": MOVED}}
    nodes = [{"host": host, **node} for host in ("a1", "a2")]
    record = {"workload": "netpipe", "ranks": 2, "hosts": ["a1", "a2"]}
    return {**record, "identity": identities, "nodes": nodes, **changes}


def judge(record: dict[str, Any], case: Any = CASE, job: Any = JOB, moved: int = MOVED) -> str:
    return identity.mismatch_reason(case, record, job, moved)


def with_nodes(*hosts: int, **changes: Any) -> dict[str, Any]:
    """The record of a launch with `changes` on these nodes, by default on both."""
    record = run()
    for host in hosts or (0, 1):
        record["nodes"][host] |= changes
    return record


def test_a_launch_as_it_was_requested_has_no_fault() -> None:
    assert judge(run(), PLAIN_CASE) == ""
    unrecorded = {"workload": "osu", "ranks": 2, "hosts": []}
    assert judge(unrecorded, {"simulated": False, "environ": "e"}, None) == ""


@pytest.mark.parametrize(
    ("second", "difference"),
    [
        ({"library": MPICH_VERSION_TEXT}, "runs 'MPICH Version: 4.0.2', rank 0 on a1 'Open MPI"),
        ({"build": "gnu:01"}, "has an MPI library of build gnu:01, rank 0 on a1 gnu:2a"),
        ({"file": "/opt/libmpi.so"}, f"loaded /opt/libmpi.so, rank 0 on a1 {MPI_LIBRARY_FILE}"),
        ({"program_sha256": "00" * 32}, "runs a program of sha256 000"),
        ({"build": None}, "has an MPI library of build unknown, rank 0 on a1 gnu:"),
    ],
)
def test_another_mpi_on_one_node_of_a_pair(second: dict[str, Any], difference: str) -> None:
    assert judge(run({}, second)).startswith(f"mismatch: rank 1 on a2 {difference}")


@pytest.mark.parametrize(
    "library", [MPICH_VERSION_TEXT, "Open MPI v3.1.3, package: made up", "Open MPI v4.10.0"]
)
def test_an_mpi_of_another_family_or_version_than_the_toolchains(library: str) -> None:
    record = run({"library": library}, {"library": library})
    declaration = "but toolchain openmpi41-tcp is openmpi 4.1"
    assert judge(record) == f"mismatch: rank 0 on a1 runs '{library}', {declaration}"


def test_a_copy_of_the_library_by_the_loaders_path() -> None:
    rank = {"file": "/tmp/copy/libmpi.so.40"}
    mismatch = "mismatch: rank 0 on a1 loaded libmpi.so.40 (/tmp/copy/libmpi.so.40), "
    links = f"but the program links libmpi.so.40.30.4 ({MPI_LIBRARY_FILE}): "
    assert judge(run(rank, rank)).startswith(mismatch + links)


def test_another_library_than_the_mpis_by_the_loaders_path() -> None:
    name, boost = "libboost_mpi.so.1.81.0", "/opt/boost/lib/libboost_mpi.so.1.81.0"
    case = {**PLAIN_CASE, "libraries": {name: boost, "libm.so.6": "/lib/libm.so.6"}}
    libraries = {name: boost, "libm.so.6": "/lib/libm-2.so", "libslow.so": "/x.so"}
    assert judge(run({"libraries": libraries}, {"libraries": libraries}), case) == ""
    record = run({}, {"libraries": {name: f"/home/me/{name}"}})
    assert judge(record, case) == (
        "mismatch: rank 1 on a2 loaded libboost_mpi.so.1.81.0 (/home/me/libboost_mpi.so.1.81.0), "
        f"but the program links libboost_mpi.so.1.81.0 ({boost}): LD_LIBRARY_PATH brings another"
    )
    assert judge(record, {**case, "links": None}) == "", "the site's own"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--budget=1", "--end=64"], "with --end=64; the check asked for --end=4096"),
        (["--budget=1"], "without some arguments, or in another order; the check"),
        (["--budget=1", "--end=4096", "-v"], "with -v; the check asked for less"),
        (["--budget=1", "--end=4096"], ""),
    ],
)
def test_a_launcher_may_not_change_arguments(arguments: list[str], fault: str) -> None:
    case = {**PLAIN_CASE, "arguments": ["--budget=1", "--end=4096"]}
    reason = judge(run(command=["/build/netpipe", *arguments]), case)
    assert reason.startswith(f"mismatch: the program ran {fault}") if fault else not reason
    foreign_rank = {"program_sha256": None}
    assert judge(run(foreign_rank, foreign_rank, command=["NPmpi", *arguments]), case) == ""


def test_code_that_a_variable_of_the_user_brings_is_named() -> None:
    rank = {"preload": "LD_PRELOAD=/home/me/slow.so"}
    fault = "preloaded: rank 1 on a2 runs with LD_PRELOAD=/home/me/slow.so, not of the site"
    assert identity.preload_reason(CASE, run({}, rank)) == fault
    assert identity.preload_reason(CASE, run()) == ""
    assert identity.preload_reason({**CASE, "links": None}, run({}, rank)) == "", "the site's own"


@pytest.mark.parametrize(
    ("hosts", "names", "fault"),
    [
        (("head", "head2"), (None, None), "head, where the job was submitted; the job"),
        (("head", "a2"), ("a1", "a2"), "head, where the job was submitted; the job has"),
        (("a1", "b7"), ("a1", None), "b7, which Slurm did not allocate; the job has node a1"),
        # A launcher that passes variables on gives each host the name of the first node.
        (("x1", "x2"), ("a1", "a1"), "x1, which Slurm did not allocate"),
        (("A1.example.org", "a2"), (None, None), ""),
        (("ip-10-0-0-1", "ip-10-0-0-2"), ("a1", "a2"), ""),
    ],
)
def test_ranks_on_other_nodes_than_the_jobs(
    hosts: tuple[str, ...], names: tuple[Any, ...], fault: str
) -> None:
    places = zip(hosts, names, strict=True)
    record = run(*({"host": host, "slurm_node": node} for host, node in places))
    reason = judge(record, PLAIN_CASE)
    assert reason.startswith(f"mismatch: ran on {fault}") if fault else not reason


def test_a_launch_outside_of_its_job() -> None:
    fault = judge(run(), job=Allocation((), "", scheduler="Slurm"))
    assert fault == "mismatch: ran on a1, outside of any job of Slurm"
    foreign_program = {"workload": "osu", "ranks": 2, "hosts": ["a1", "z9"]}
    assert "ran on z9, which Slurm did not allocate" in judge(foreign_program)


def test_shared_memory_where_the_network_was_requested() -> None:
    assert judge(with_nodes(sent_bytes={"eth1": 1_000}), PLAIN_CASE) == (
        "mismatch: interface eth1 sent 1000 bytes of the 100000000 that were measured, the most of "
        "all: shared memory, where the network was asked for"
    )


SILENT = {"sent_bytes": {"eth1": 0}}
SILENT_NODE = with_nodes(**SILENT)["nodes"][0]
#: They share no memory.
TWO_MACHINES = run(nodes=[SILENT_NODE, {**SILENT_NODE, "host": "a2", "boot": "two"}])


@pytest.mark.parametrize(
    ("record", "moved"),
    [
        (with_nodes(boot=None, **SILENT), MOVED),
        (with_nodes(adapters=["mlx5_0"], **SILENT), MOVED),
        (with_nodes(sent_bytes={"eth1": MOVED // 10}), MOVED),
        (with_nodes(**SILENT) | {"ranks": 8}, MOVED),  # several on a node may talk in it
        (with_nodes(**SILENT), 1_000_000),  # few bytes prove no way
        (TWO_MACHINES, MOVED),
    ],
)
def test_where_data_may_have_gone_another_way_nothing_is_claimed(record: Any, moved: int) -> None:
    assert judge(record, PLAIN_CASE, moved=moved) == ""


def test_tcp_where_infiniband_was_requested() -> None:
    assert judge(with_nodes(adapters=["mlx5_0"], tcp_bytes=MOVED)) == (
        "mismatch: the first rank on node a1 sent 100000000 bytes over TCP, where rc on mlx5_0:1 "
        "was asked for"
    )
    few = with_nodes(adapters=["mlx5_0"], tcp_bytes=4_000, sent_bytes={"eth0": MOVED})
    assert judge(few, moved=0) == "", "of a file system, and of the connection of the ranks"
    means = with_nodes(adapters=["mlx5_0"], tcp_bytes=200_000)
    assert "sent 200000 bytes over TCP" in judge(means, moved=8), "of a program that prints means"


def test_a_simulated_launch_has_no_nodes_and_no_file() -> None:
    mpi = {"family": "smpi", "version": "3.32", "says": "SMPI Version"}
    case = {**CASE, "simulated": True, "mpi": mpi, "links": None}
    rank = {"library": "SMPI Version 3.32. Copyright", "file": None, "build": None}
    record = run(rank, rank, nodes=with_nodes(0, **SILENT)["nodes"])
    assert judge(record, case, None) == ""
    fault = judge(record, {**case, "mpi": {**mpi, "version": "3.33"}}, None)
    assert "toolchain openmpi41-tcp is smpi 3.33" in fault


def test_what_others_wrote_is_one_printable_line() -> None:
    fault = judge(run({}, {"library": "MPI\x1b[31m\n" + "x" * 5000}))
    assert fault.isprintable() and len(fault) < 400


@pytest.mark.parametrize(
    ("nodelist", "nodes"),
    [("a[1-2,5],b1", ("a1", "a2", "a5", "b1")), ("node-1.example", ("node-1.example",)), ("", ())],
)
def test_the_allocation_of_a_job(tmp_path: Path, nodelist: str, nodes: tuple[str, ...]) -> None:
    text = f"SLURM_JOB_ID=7\nSLURM_JOB_NODELIST={nodelist}\nSLURM_SUBMIT_HOST=Head.example.org\n"
    (tmp_path / identity.ALLOCATION_FILE).write_text(text)
    allocation = identity.read_allocation(SLURM, tmp_path)
    assert allocation == Allocation(nodes, "head", "7", scheduler="Slurm")
    assert {identity.job_mismatch(allocation, job) for job in ("7", None)} == {""}
    no_job = Allocation(nodes, "head", scheduler="Slurm")
    for place, place_text in ((allocation, "in job 7"), (no_job, "outside of any job of Slurm")):
        fault = f"mismatch: ran {place_text}, but job 8 was submitted"
        assert identity.job_mismatch(place, "8") == fault


@pytest.mark.parametrize(
    ("other_jobs", "jobs"),
    [
        ([], ""),
        (["7|1000|a[1-2]"], ""),  # the job itself
        (["8|1000|b[1-9]"], ""),
        (["8|65534|a[2-3]", "8|65534|a[2-3]"], "job 8 of another user on node a2"),
        (["8|1000|a[1-2]", "9|0|a1"], "job 8 of the same user and 1 more on node a1, node a2"),
        (["x|0|a1", "8|0", "8|0|a[1-99999999]"], ""),
    ],
)
def test_other_jobs_on_nodes_are_named(tmp_path: Path, other_jobs: list[str], jobs: str) -> None:
    text = "SLURM_JOB_ID=7\nSLURM_JOB_UID=1000\nSLURM_JOB_NODELIST=a[1-2]\n"
    lines = "".join(f"OTHER_JOB={job}\n" for job in other_jobs)
    (tmp_path / identity.ALLOCATION_FILE).write_text(text + lines)
    expected = f"co-scheduled: Slurm ran {jobs} at the same time" if jobs else ""
    assert identity.read_allocation(SLURM, tmp_path).other_jobs == expected


@pytest.mark.parametrize(
    "nodelist", ["a[1-", "a[1-99999999]", "a[x]", "a b", "a[[1]]", "[1-2", "a[1-2]b", "-,", "a,,b"]
)
def test_what_is_no_list_of_nodes_fails(tmp_path: Path, nodelist: str) -> None:
    (tmp_path / identity.ALLOCATION_FILE).write_text(f"SLURM_JOB_NODELIST={nodelist}\n")
    with pytest.raises(UserError, match="is no list of nodes"):
        identity.read_allocation(SLURM, tmp_path)


@given(st.binary(max_size=200))
def test_any_allocation_is_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("allocation")
    (folder / identity.ALLOCATION_FILE).write_bytes(b"SLURM_JOB_NODELIST=" + content)
    with contextlib.suppress(UserError):
        assert all(isinstance(node, str) for node in identity.read_allocation(SLURM, folder).nodes)


def test_clock_sources_of_two_nodes_that_differ() -> None:
    record = with_nodes(1, clock_source="hpet")
    assert judge(record, PLAIN_CASE) == ""
    record["nodes"][0]["clock_source"] = "tsc"
    assert judge(record, PLAIN_CASE) == "mismatch: node a2 has clock source hpet, node a1 tsc"


def record(tree: SyntheticTree, number: int, **changes: Any) -> None:
    """Record what the ranks of a launch say; `changes` are of ``case``, ``rank`` and ``node``."""
    folder = tree.launch_folder(number, ENVIRON)
    edit(folder / "case.json", **({"tuning": {}} | changes.get("case", {})))
    identity = {"host": HOST, "ranks": [0, 1], "slurm_node": None, **RANK_IDENTITY}
    node = {"smt": "off", "logical": 2, "huge_pages": "madvise", "memory": "503 GiB"}
    with content(folder / "run.json") as run:
        run["command"] = ["/build/netpipe"]
        run["identity"] = [identity | changes.get("rank", {})]
        run["nodes"][0] |= {**node, "interfaces": {"eth1": "MTU 1500"}} | changes.get("node", {})


@pytest.fixture
def tree(two_launches: SyntheticTree) -> SyntheticTree:
    return two_launches


def reasons(tree: SyntheticTree) -> list[str]:
    return [launch.reason for launch in scan_launches(tree.path)]


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("rank", {"build": "gnu:02"}, "build of the MPI library was gnu:2a"),
        ("rank", {"file": "/x/libmpi.so"}, "file of the MPI library was /"),
        ("node", {"smt": "on"}, f"SMT was off in launch 001/{ENVIRON}/NetPIPE_ping, and is on"),
        ("node", {"processor": "Other"}, "processor was 'Example CPU 3000 @ 2.40GHz' in launch"),
        ("node", {"huge_pages": "never"}, "transparent huge pages was madvise in"),
        ("node", {"logical": 1}, "number of processors online was 2 in launch"),
        ("node", {"governor": "powersave"}, "governor was performance in launch"),
        ("node", {"kernel": "6.1.0-41-amd64"}, "kernel was 6.1.0-40-amd64 in launch"),
        ("node", {"memory": "471 GiB"}, "memory was '503 GiB' in launch"),
        ("node", {"interfaces": {"eth1": "MTU 576", "veth7": "up"}}, "interface eth1 was 'MTU 15"),
        ("node", {"adapters": ["mlx5_0: firmware 9"]}, "adapters was 'mlx5_0: MT_00"),
        ("case", {"tuning": {"UCX_TLS": "tcp"}}, "tuning by the user was none in launch"),
    ],
)
def test_a_change_in_mid_run_fails_later_launches(
    make_tree: Maker, part: str, change: Any, words: str
) -> None:
    tree = make_tree(launches=4, environs=(ENVIRON,))
    for number in (1, 2, 3, 4):
        record(tree, number, **({part: change} if number > 2 else {}))
    launch_reasons = reasons(tree)
    assert launch_reasons[:2] == ["", ""]
    fault = f"mismatch: {f'node {HOST}' if part == 'node' else f'environment {ENVIRON}'}: "
    assert all(reason.startswith(fault + words) for reason in launch_reasons[2:])


def test_a_fact_that_a_launch_does_not_know_is_no_change(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    record(tree, 1)
    record(tree, 2, node={"smt": None}, rank={"build": None})
    record(tree, 3)
    assert reasons(tree) == ["", "", ""]


def test_a_program_that_is_not_the_one_that_the_run_began_with(tree: SyntheticTree) -> None:
    program = {"file": "/build/netpipe", "sha256": RANK_IDENTITY["program_sha256"]}
    edit(tree.path / "state.json", pins=[{"what": "program", **program}])
    tree.amend_json("case.json", program={**program, "sha256": None})
    record(tree, 1)
    record(tree, 2, rank={"program_sha256": "cd" * 32})
    first, second = reasons(tree)
    assert first == ""
    assert second.startswith("mismatch: program netpipe (/build/netpipe): sha256 was 8b8b")
    assert " when the run began, and is cdcd" in second


def allocate(tree: SyntheticTree, *texts: str) -> None:
    """Let each launch have run in a job of Slurm with this allocation."""
    for number, text in enumerate(texts, 1):
        folder = tree.launch_folder(number, ENVIRON)
        edit(folder / "case.json", scheduler="slurm")
        (folder / identity.ALLOCATION_FILE).write_text(text)


def test_a_launch_beside_another_job_is_disturbed_and_says_by_which(tree: SyntheticTree) -> None:
    text = "SLURM_JOB_ID=7\nSLURM_JOB_UID=1000\nSLURM_JOB_NODELIST=thunderbolt\n"
    allocate(tree, text, f"{text}OTHER_JOB=49|65534|thunderbolt\n")
    assert reasons(tree) == ["", ""]
    launch_rows = read_tree(tree).launches.sort("launch")
    first, second = launch_rows["disturbed_why"]
    assert "co-scheduled" not in (first or "")
    assert second.startswith("co-scheduled: Slurm ran job 49 of another user on node node-")


def test_nodes_of_a_job_have_pseudonyms_in_a_bundle(tree: SyntheticTree) -> None:
    allocate(tree, "SLURM_JOB_NODELIST=thunderbolt\n", "SLURM_JOB_NODELIST=odin,fenrir7\n")
    assert reasons(tree)[1].endswith("did not allocate; the job has node fenrir7, node odin")
    bundle_data = read_tree(tree)
    (reason,) = bundle_data.launches.filter(status="failed")["reason"]
    assert "ran on node-" in reason
    assert not any(name in reason for name in ("odin", "fenrir7", "thunderbolt"))


def test_the_report_says_so_first_and_no_folder_leaves(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    record(tree, 1)
    record(tree, 2, rank={"file": "/home/jdoe/secret/libmpi.so.40"})
    record(tree, 3)
    bundle_data = read_tree(tree)
    lines = [plain_text(answer.text) for answer in launches.build_section(bundle_data).answers]
    beginning = f"Mismatch: environment {ENVIRON}: file of the MPI library was {MPI_LIBRARY_FILE}"
    other_library = re.compile(rf"{DIGEST_PATTERN}/libmpi\.so\.40\.")
    assert any(line.startswith(beginning) and other_library.search(line) for line in lines), lines
    assert "jdoe" not in str(bundle_data.launches.to_dicts())
    assert set(bundle_data.launches["mpi_build"].drop_nulls()) == {RANK_IDENTITY["build"]}
