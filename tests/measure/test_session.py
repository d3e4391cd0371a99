"""Cases become ReFrame command lines, each named once; starting is guarded by counts."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import skip_without_toolchains
from support.virtual import await_true

from roundtrip.errors import UserError
from roundtrip.measure import campaign_file, matrix, session
from roundtrip.measure.campaign_file import CheckPlan
from roundtrip.measure.matrix import ExpectedCase, NodePair
from roundtrip.measure.scheduler import SchedulerWait
from roundtrip.sites.schedulers import NO_SCHEDULER
from roundtrip.sites.site import Case, Site
from roundtrip.sites.toolchains.spec import read_catalogue

expected = st.builds(
    lambda check, test, partition, environ, budget: ExpectedCase(
        Case(check, (), f"{check}{test}", "s", partition, environ),
        "check.py",
        (("budget", budget),),
    ),
    st.sampled_from("AB"),
    st.integers(0, 3),
    st.sampled_from(["p", "q"]),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["1", "2"]),
)


@given(st.lists(expected, unique=True))
def test_blocks_are_products_that_cover_each_case_once(items: list[ExpectedCase]) -> None:
    unique_items = {(item.case.id, item.case.hash): item for item in items}
    blocks = session.group_by_command(list(unique_items.values()))
    assert Counter(item for block in blocks for item in block) == Counter(unique_items.values())
    for block in blocks:
        assert len({(i.case.partition, i.case.check, i.variables) for i in block}) == 1
        product = {(i.case.hash, i.case.environ) for i in block}
        tests, environs = {h for h, _ in product}, {e for _, e in product}
        assert product == {(h, e) for h in tests for e in environs}


def site(partition: str, **config: object) -> Any:
    partitions = {partition: {"scheduler": "squeue", **config}}
    return SimpleNamespace(name="local", checkout=Path("top"), partitions=partitions)


def test_the_command_line_names_the_cases_exactly() -> None:
    cases = [Case("NetPIPE", (), "26ad4637", "local", "smp", e) for e in ("a", "ab")]
    block = [ExpectedCase(case, "check.py", (("budget", "4"),)) for case in cases]
    line = session.launch_command(site("smp"), block, Path("tree/rounds/001"), "smoke/1")
    assert {*line} >= {
        *("--checkpath=check.py", "--system=local:smp", "--name=/26ad4637", "--prgenv=^(a|ab)$"),
        *("--setvar=NetPIPE.budget=4", "--prefix=tree/rounds/001"),
        "--job-option=comment=roundtrip:smoke/1",
    }
    assert line[-1] == "--run"


def test_cases_on_other_nodes_have_sessions_of_their_own_with_a_node_list() -> None:
    lists = {"a": ("n1", "n2"), "b": ("n1", "n2"), "c": ("n3", "n4"), "d": ()}
    items = [
        ExpectedCase(Case("C", (), "0" * 8, "local", "smp", environ), "c.py", (), nodelist=nodes)
        for environ, nodes in lists.items()
    ]
    blocks = session.group_by_command(items)
    assert [[item.case.environ for item in block] for block in blocks] == [["a", "b"], ["c"], ["d"]]
    lines = [session.launch_command(site("smp"), block, Path("001"), "x") for block in blocks]
    options = [[word for word in line if "nodelist" in word] for line in lines]
    assert options == [["--job-option=--nodelist=n1,n2"], ["--job-option=--nodelist=n3,n4"], []]


def meeting_in(round_: int, *hosts: str) -> ExpectedCase:
    case = Case("NetPIPE", (("mode", "pingpong"),), "26ad4637", "s", "p", "tcp")
    return ExpectedCase(case, "check.py", (), pairs=(NodePair(round_, 1, hosts),))


def test_a_session_is_a_round_in_which_no_node_is_twice() -> None:
    items = [meeting_in(0, "a", "b"), meeting_in(1, "a", "c"), meeting_in(0, "c", "d")]
    blocks = session.group_by_command(items)
    assert [[item.pairs[0].hosts for item in block] for block in blocks] == [
        [("a", "b"), ("c", "d")],
        [("a", "c")],
    ]


@pytest.mark.parametrize("side_by_side", [True, False])
def test_pairs_run_side_by_side_only_where_the_site_says_so(side_by_side: bool) -> None:
    slurm_site = site("p", extras={"side_by_side": side_by_side})
    block = [meeting_in(0, "a", "b"), meeting_in(0, "c", "d")]
    line = session.launch_command(slurm_site, block, Path("001"), "pairs/1")
    assert f"--exec-policy={'async' if side_by_side else 'serial'}" in line
    assert not [word for word in line if word.startswith("--name=")], "their hashes are their own"
    variables = session._pair_variables(slurm_site, block)
    assert variables.get("ROUNDTRIP_SIDE_BY_SIDE") == ("2" if side_by_side else None)
    pairs = json.loads(variables["ROUNDTRIP_PAIRS"])
    assert pairs == {"pair_round": 0, "pair_night_round": 1, "hosts": [["a", "b"], ["c", "d"]]}


INTERRUPTED_IN_FORK = """\
import os, pathlib, signal, sys
from types import SimpleNamespace
from roundtrip.measure import session
# As if Ctrl-C came while Python is between fork and exec, where it swallows what is raised.
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
folder = pathlib.Path(sys.argv[1])
site = SimpleNamespace(checkout=folder)
try:
    session._run_reframe(site, ["sleep", "30"], folder, 2, print, dict(os.environ))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_reframe_is_being_started_is_not_lost(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_FORK, tmp_path],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.stdout, process.stderr) == ("interrupted\n", "")


def test_no_process_outlives_its_session(tmp_path: Path) -> None:
    """A rank may be in a session of its own: MPICH's proxy begins one."""
    folder = tmp_path / "001"
    command = ["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!"]
    stranger = subprocess.Popen(["sleep", "60"], env={"ROUNDTRIP_SESSION": f"{folder}2"})
    try:
        site = SimpleNamespace(checkout=tmp_path)
        environment = dict(os.environ)
        session._run_reframe(site, command, folder, 2, print, environment)  # type: ignore[arg-type]
        rank = int((folder / "console.log").read_text())
        assert await_true(lambda: not is_alive(rank), 5)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_inside_exec_is_looked_at_again(tmp_path: Path) -> None:
    """There the kernel shows an empty environment: the rank of the test above once survived so."""
    (tmp_path / "exe").symlink_to("/bin/sleep")
    (tmp_path / "cmdline").touch()
    (tmp_path / "environ").touch()
    assert session._is_in_exec(tmp_path)
    (tmp_path / "cmdline").write_bytes(b"sleep\0")
    assert not session._is_in_exec(tmp_path), "its environment is really empty"
    (tmp_path / "environ").write_bytes(b"A=1\0")
    assert session._is_in_exec(tmp_path), "exec ended between the two looks"
    (tmp_path / "exe").unlink()
    with pytest.raises(FileNotFoundError):
        session._is_in_exec(tmp_path)  # a kernel thread


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_building_is_no_time_of_launching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [
        {"display_name": "build_netpipe ~local:smp+a", "fixture": True, "time_total": 40.5},
        {"display_name": "NetPIPE", "fixture": False, "time_total": 9.0},
    ]

    def reframe(site: object, arguments: list[str], folder: Path, *_: object) -> int:
        folder.mkdir()
        (folder / "report.json").write_text(json.dumps({"runs": [{"testcases": tests}]}))
        return 0

    monkeypatch.setattr(session, "_run_reframe", reframe)
    ticks = iter((100.0, 150.0, 200.0, 210.0))
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    partitions = {"smp": {"scheduler": "local"}}
    site = SimpleNamespace(name="local", checkout=tmp_path, partitions=partitions, environment={})
    block = [ExpectedCase(Case("NetPIPE", (), "26ad4637", "local", "smp", "a"), "check.py", ())]

    wait = SchedulerWait(NO_SCHEDULER, 0, tmp_path)

    def launched_s(folder: str) -> float:
        return session.run_session(site, block, tmp_path / folder, "x", 0, lambda *_: None, wait)  # type: ignore[arg-type]

    assert launched_s("001") == 9.5
    record = json.loads((tmp_path / "001" / "session.json").read_text())
    assert record == {"exit_status": 0, "wall_s": 50.0, "build_s": 40.5}
    tests.clear()
    assert launched_s("002") == 10.0


CASES = [
    Case("Ping", (("mode", mode),), "0", "local", "smp", environ)
    for mode in ("one", "other")
    for environ in ("b", "a")
]
WANTED = [ExpectedCase(case, "ping.py", (), "ping") for case in CASES]


def order(seed: int, number: int) -> str:
    sides = session.abba_order(WANTED, seed, number)
    assert sorted(len(side) for side in sides) == [2, 2]
    for side in sides:
        assert len({item.case.environ for item in side}) == 1
    return "".join(side[0].case.environ for side in sides)


def test_the_second_round_of_two_is_the_first_one_mirrored() -> None:
    for first in range(1, 400, 2):
        assert order(7, first) == order(7, first + 1)[::-1]


def test_the_coins_are_fair_differ_by_seed_and_are_those_of_the_seed_again() -> None:
    orders_by_seed = [[order(seed, number) for number in range(1, 401, 2)] for seed in (1, 2)]
    assert all(70 < orders.count("ab") < 130 for orders in orders_by_seed)
    assert orders_by_seed[0] != orders_by_seed[1]
    assert orders_by_seed[0] == [order(1, number) for number in range(1, 401, 2)]


def test_a_toolchain_that_was_given_up_leaves_the_other_one() -> None:
    items = [item for item in WANTED if item.case.environ == "b"]
    assert session.abba_order(items, 7, 3) == [items]


def test_the_seed_is_in_the_campaign_that_a_resumed_run_reads(tmp_path: Path) -> None:
    plans = (CheckPlan("Ping", 0),)
    for seed in (None, 0, 4294967295):
        content = campaign_file.ab_campaign_toml(("a", "b"), plans, 1.0, abba_seed=seed)
        file = campaign_file.write_ab_campaign(tmp_path, ("a", "b"), content)
        assert campaign_file.load_campaign(file).abba_seed == seed


CHECKOUT = Path(__file__).parents[2]
#: Take tenths of a second to load, each; a command loads those it needs when it needs them.
HEAVY = ["numpy", "polars", "reframe", "requests", "scipy"]

TOOLCHAIN = read_catalogue().smoke_names[0]
NEEDS_TOOLCHAIN = skip_without_toolchains(TOOLCHAIN)

COUNT_STACK_WALKS = """\
import inspect, sys
walks, walk = 0, inspect.stack
def counted(*arguments):
    global walks
    walks += 1
    return walk(*arguments)
inspect.stack = counted
from reframe.frontend.cli import main
sys.argv = ["reframe", "-c", "checks/netpipe", "-c", "checks/ring", "-l"]
try:
    main()
finally:
    print("walks:", walks)
"""


def run(*command: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True)


def test_the_commands_load_nothing_heavy() -> None:
    names = "[name for some in COMMANDS.values() for name in some]"
    code = "import sys; from typer.main import get_group; from roundtrip.cli import COMMANDS, app\n"
    code += f"assert all(get_group(app).get_command(None, name) for name in {names})\n"
    code += f"print([m for m in {HEAVY} if m in sys.modules])"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    process = run(sys.executable, "-c", code, env=environment)
    assert process.stdout == "[]\n", process.stderr


@pytest.mark.nightly
@NEEDS_TOOLCHAIN
def test_a_matrix_asks_reframe_once_of_its_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []
    run_program = Site._run

    def record(site: Site, command: object, title: str, variables: object, stdin: str) -> str:
        requests.append(stdin)
        return run_program(site, command, title, variables, stdin)  # type: ignore[arg-type]

    monkeypatch.setattr(Site, "_run", record)
    campaign = campaign_file.load_campaign(CHECKOUT / "campaigns" / "smoke.toml")
    matrix.build_matrix(campaign, Site("local", CHECKOUT))
    (request,) = requests
    assert json.loads(request)["files"] == [f"{CHECKOUT}/checks/netpipe/netpipe.py"]


@pytest.mark.nightly
@NEEDS_TOOLCHAIN
def test_reframe_makes_the_tests_of_a_campaign_alone_and_as_among_all() -> None:
    """But for a check that is declared several times, of which it makes all combinations."""
    site = Site("local", CHECKOUT)
    all_tests = site.list_tests().tests
    for file in sorted((CHECKOUT / "campaigns").glob("*.toml")):
        campaign = campaign_file.load_campaign(file)
        campaign_tests = site.list_tests(*matrix.checks_to_load(campaign.checks, site)).tests
        expected = [matrix._selected_tests(plan, all_tests, campaign) for plan in campaign.checks]
        tests = [matrix._selected_tests(plan, campaign_tests, campaign) for plan in campaign.checks]
        assert tests == expected
        names = [plan.name for plan in campaign.checks]
        hashes = {test.hash for test in campaign_tests if names.count(test.check) == 1}
        single = [tests for n, tests in zip(names, expected, strict=True) if names.count(n) == 1]
        assert hashes == {test.hash for tests in single for test in tests}


@pytest.mark.nightly
@NEEDS_TOOLCHAIN
def test_a_value_without_a_test_is_named_with_legal_ones(tmp_path: Path) -> None:
    file = tmp_path / "night.toml"
    check = '[[check]]\nname = "NPB"\nparameters = { ranks = [3], benchmark = ["EP"] }\n'
    file.write_text(f'title = "t"\nlaunches = 9\ntime_limit_minutes = 60\n{check}')
    with pytest.raises(UserError, match="check 'NPB': ranks = '3' is not one of: 1, 16, 2, 4"):
        matrix.build_matrix(campaign_file.load_campaign(file), Site("local", CHECKOUT))


def test_a_session_makes_the_tests_of_its_block_alone() -> None:
    parameter_sets = [(("benchmark", name), ("ranks", "2")) for name in ("CG", "EP")]
    cases = [Case("NPB", values, "0" * 8, "x", "p", "a") for values in parameter_sets]
    block = [ExpectedCase(case, "f", ()) for case in cases]
    selection = json.loads(session._selection_variables(block)["ROUNDTRIP_TESTS"])
    assert selection == {"NPB": [{"benchmark": ["CG", "EP"], "ranks": ["2"]}]}


def test_the_file_of_a_check_is_found_without_reframe() -> None:
    checks = Site("local", CHECKOUT).checks
    assert checks["NetPIPE"] == CHECKOUT / "checks" / "netpipe" / "netpipe.py"
    assert checks["NPBWan"] == CHECKOUT / "checks" / "npb" / "npb.py"
    assert "NPBBase" not in checks


def test_reframe_walks_no_stack_for_warnings_that_it_suppresses() -> None:
    """Two walks a test took more than half of the time of listing all checks."""
    environment = Site("local", CHECKOUT).environment
    process = run(sys.executable, "-c", COUNT_STACK_WALKS, env=environment)
    walks = int(process.stdout.rpartition("walks: ")[2])
    assert walks < 5, process.stdout


def test_a_deprecated_variable_that_we_use_ourselves_still_warns(tmp_path: Path) -> None:
    text = (CHECKOUT / "checks" / "netpipe" / "netpipe.py").read_text()
    folder = tmp_path / "checks" / "netpipe"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "test_selection.py", "workarounds.py", "netpipe/__init__.py"):
        (tmp_path / "checks" / name).write_text((CHECKOUT / "checks" / name).read_text())
    (tmp_path / "checks" / "mixins").symlink_to(CHECKOUT / "checks" / "mixins")
    code = text.replace("    num_tasks = 2\n", '    num_tasks = 2\n    variables = {"A": "b"}\n')
    (folder / "netpipe.py").write_text(code)
    environment = Site("local", CHECKOUT).environment
    process = run("reframe", f"--checkpath={folder}", "-l", env=environment)
    assert "'variables' is deprecated" in process.stdout + process.stderr
