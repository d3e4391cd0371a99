"""Starting is quick: guarded by counts, because times depend on the machine."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.programs import skip_without_toolchains

from roundtrip.errors import UserError
from roundtrip.measure import campaign_file, matrix, session
from roundtrip.measure.matrix import ExpectedCase
from roundtrip.sites.site import Case, Site
from roundtrip.sites.toolchains.spec import read_catalogue

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
def test_a_matrix_asks_reframe_once_and_only_of_its_own_checks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[str] = []
    run_program = Site._run

    def record(site: Site, command: object, title: str, variables: object, stdin: str) -> str:
        requests.append(stdin)
        return run_program(site, command, title, variables, stdin)  # type: ignore[arg-type]

    monkeypatch.setattr(Site, "_run", record)
    campaign = campaign_file.load_campaign(CHECKOUT / "campaigns" / "smoke.toml")
    matrix.build_matrix(campaign, Site("local", CHECKOUT))
    assert [json.loads(request)["files"] for request in requests] == [
        [f"{CHECKOUT}/checks/netpipe/netpipe.py"]
    ]


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
