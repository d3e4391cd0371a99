"""Every command in the guides is run by a test, here or by one named here, or by hand: then a table
of a guide says when."""

import ast
import re
import shlex
from datetime import date
from pathlib import Path

import pytest
from support.programs import CHECKOUT, command_environment, describe_missing_toolchains, run_program

from roundtrip.sites.toolchains.spec import read_catalogue

GUIDES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]

#: Commands that are quick and change nothing: run as they stand.
RUN_HERE = [
    r"(\.venv/bin/)?roundtrip doctor",
    r"(\.venv/bin/)?roundtrip run \S+( --site \S+)? --dry-run",
    r"(\.venv/bin/)?roundtrip toolchains --list",
    r"bash -c '\. site-configs/activate local && reframe -c checks -R -l'",
    r"reframe -c checks -R -l",
    r"\. site-configs/activate (local|infiniband|simulated)",
]
#: Other commands: the test that runs them, often on a site or a campaign of its own, and words by
#: which its file does.  What is no test in Python is run by `make test`.
RUN_ELSEWHERE: dict[str, tuple[str, ...]] = {
    r"\.venv/bin/python -m roundtrip\.studies\.npb\.marks .*": (
        "tests/studies/npb/test_marks.py"
        "::test_the_command_prints_a_file_of_marks_or_one_line_of_what_is_wrong",
        "marks.main(",
    ),
    r"make test": (".ci/run", "make --keep-going test"),
    r"(testbed/vcluster exec bash -c '.* && )?roundtrip run \S+ --site \S+": (
        "tests/end_to_end/test_what_sites_ask.py::test_a_preempted_launch_is_repeated",
        "roundtrip run {file} --site virtual",
    ),
    r"(\.venv/bin/)?roundtrip run smoke --resume": (
        "tests/end_to_end/test_campaign.py"
        "::test_a_campaign_killed_at_any_moment_is_resumed_exactly",
        *('start_roundtrip(environment, "run"', '"--resume"'),
    ),
    r"roundtrip history SITE": (
        "tests/history/test_command.py::test_what_regressed_comes_first_with_what_differed_there",
        *('"history"', "history(SITE, "),
    ),
    r"roundtrip history SITE --(accept|since) .*": (
        "tests/history/test_command.py::"
        "test_what_is_accepted_is_the_baseline_and_older_news_is_none",
        *('"--accept"', '"--reason"', '"--all"', '"--since"'),
    ),
    r"roundtrip history SITE nightly --all --series .*": (
        "tests/history/test_command.py::test_all_shows_what_did_not_change",
        *('"--all"', '"--series"'),
    ),
    r"roundtrip nodes SITE --drain-command": (
        "tests/cli/test_nodes.py::test_the_commands_that_drain_nodes_are_printed_for_a_shell",
        *('"nodes", SITE', '"--drain-command"'),
    ),
    r"roundtrip nodes SITE( nightly --json)?": (
        "tests/cli/test_nodes.py::test_a_sick_node_is_named_and_the_status_is_one",
        *('"nodes", SITE', '"--json"'),
    ),
    r"roundtrip import .*": (
        "tests/history/test_import.py::test_what_a_log_a_report_and_a_database_hold_counts_once",
        '"import", *',
    ),
    r"roundtrip publish \S+ --to \S+ --preview": (
        "tests/report/test_signed.py::test_a_preview_names_each_field_and_what_is_new",
        *('"publish"', '"--to"', '"--preview"'),
    ),
    r"roundtrip publish .* --to \S+": (
        "tests/report/test_public.py::test_a_report_is_copied_once_with_an_index",
        *('"publish"', '"--to"'),
    ),
    r"roundtrip ab \S+ \S+( --.*)?": (
        "tests/end_to_end/test_ab.py"
        "::test_two_toolchains_are_distinct_and_the_run_is_an_ordinary_one",
        *('"ab"', '"--checks"', '"--set"', '"--fail-on"'),
    ),
    r"roundtrip schema \S+": (
        "tests/cli/test_current.py::test_every_key_is_described_and_the_version_is_fixed",
        '"schema"',
    ),
    r"roundtrip compare .*": (
        "tests/cli/test_compare.py::test_two_toolchains_of_a_tree",
        *('"compare"', '"--toolchains"', '"--format"'),
    ),
    r"roundtrip collect .*": (
        "tests/cli/test_current.py::test_the_one_line_names_a_bundle_that_holds",
        '"collect"',
    ),
    r"roundtrip report .*": (
        "tests/report/test_publish.py::test_the_command_line",
        *('"report"', '"--verify"'),
    ),
    r"(\.venv/bin/)?roundtrip site (new|check) .*": (
        "tests/end_to_end/test_site_live.py::test_a_new_site_is_tried_and_mended_from_what_ran",
        *('"site", "new"', '"site", "check"', '"--live"'),
    ),
    r"roundtrip site lock": (
        "tests/sites/test_check.py::test_a_fault_sets_the_exit_status",
        '"site", "lock"',
    ),
    r"\.venv/bin/python -m tools\.mirror .*": (
        "tests/tools/test_mirror.py::test_the_command_says_what_lacks_and_exits_1",
        "invoke(app, [*words",
    ),
    r"python3 -m venv \.venv": ("site-configs/local/bootstrap", "-m venv --clear"),
    r"\.venv/bin/pip install (--require-hashes -r requirements\.lock|--no-deps .* -e \.)": (
        "site-configs/local/bootstrap",
        *("--require-hashes -r requirements.lock", "--no-deps --no-build-isolation -e ."),
    ),
    r"reframe -c checks -R (-n \w+ )?-r": (
        "tests/end_to_end/test_virtual.py::test_plain_reframe_measures_over_the_link",
        *("reframe -c checks -R", " -n ", " -r"),
    ),
    r"(testbed/vcluster exec bash -c '.* && )?sbatch campaigns/nightly.sbatch'?": (
        "tests/end_to_end/test_virtual.py::test_a_night_is_submitted_run_and_reported",
        "cluster.submit(",
    ),
    r"sbatch campaigns/nightly.sbatch pairs": (
        "tests/end_to_end/test_pairs.py"
        "::test_nodes_meet_over_the_nights_and_a_drained_one_is_named",
        'cluster.submit(cluster.share / "pairs.toml"',
    ),
    r"sbatch .* campaigns/nightly.sbatch CAMPAIGN": (
        "tests/end_to_end/test_what_sites_ask.py"
        "::test_all_launches_of_a_night_are_steps_of_one_job",
        '"--nodes=2", "--ntasks=2", "--exclusive"',
    ),
    r"testbed/vcluster (up|down)( .*)?": (
        "tests/testbed/test_lifecycle.py::test_down_leaves_nothing",
        *('"up", "--nodes"', '"down"'),
    ),
    r"testbed/vcluster exec squeue": (
        "tests/end_to_end/test_virtual.py::test_nights_do_not_pile_up",
        '"exec", "squeue"',
    ),
    r"mpirun -n 2 build/.*": (
        "workloads/netpipe/tests/launch_test.cpp",
        *("--samples samples.csv", "--variants mpi", "--exact"),
    ),
    r"\. site-configs/activate (SITE|mycluster)": (
        "tests/spack/test_environment.py::test_activate_asks_for_what_is_left",
        ". site-configs/activate infiniband",
    ),
}
#: A row of a table of commands that no test runs: the command, its last run, what it printed.
BY_HAND = re.compile(r"^\| `([^`]+)` \| (\d{4}-\d\d-\d\d|never) \| ?(.*?) ?\|$", re.MULTILINE)


def by_hand() -> dict[str, tuple[str, str]]:
    """By command: when it was last run by hand, and what it printed, or why it was not."""
    tables = [guide.read_text().partition("\n## Run by hand\n")[2] for guide in GUIDES]
    return {
        command: (last_run, output)
        for table in tables
        for command, last_run, output in BY_HAND.findall(table)
    }


def commands(guide: Path) -> list[str]:
    """Indented lines of a guide, without comments; none of TOML, which is indented deeper, and none
    of Python in fences."""
    result = []
    text = re.sub(r"```python.*?```", "", guide.read_text(), flags=re.DOTALL)
    for line in text.splitlines():
        if re.match(r" {4}\S", line):
            command = re.split(r"\s{2,}# ", line.strip())[0]
            result += [command] if "'" in command else command.split(" && ")
    return result


#: Commands that no test runs, as the guides' tables have them.
RUN_BY_HAND = by_hand()
#: Its commands build on each other: tests/studies/test_new.py runs all of them in their order.
IN_ORDER = {"add-a-study.md"}
ALL = sorted({c for guide in GUIDES if guide.name not in IN_ORDER for c in commands(guide)})


def test_every_command_is_run_by_a_test() -> None:
    for command in ALL:
        if any(re.fullmatch(pattern, command) for pattern in RUN_HERE):
            continue
        patterns = [pattern for pattern in RUN_ELSEWHERE if re.fullmatch(pattern, command)]
        assert len(patterns) + (command in RUN_BY_HAND) == 1, (
            f"no test runs, or two tables: {command}"
        )


@pytest.mark.parametrize("pattern", RUN_ELSEWHERE)
def test_what_is_said_to_run_a_command_exists_and_has_its_words(pattern: str) -> None:
    place, *words = RUN_ELSEWHERE[pattern]
    assert any(re.fullmatch(pattern, command) for command in ALL), "no guide has such a command"
    name, _, function = place.partition("::")
    text = (CHECKOUT / name).read_text()
    if name.endswith(".py"):
        tests = {
            statement.name
            for statement in ast.parse(text).body
            if isinstance(statement, ast.FunctionDef)
        }
        assert function.startswith("test_") and function in tests, place
    assert words and [word for word in words if word not in text] == []


def test_a_command_run_by_hand_is_in_a_guide_and_says_what_it_printed() -> None:
    for command, (last_run, output) in RUN_BY_HAND.items():
        assert command in ALL, f"no guide has: {command}"
        assert output, command
        assert last_run == "never" or date.fromisoformat(last_run)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "command", [c for c in ALL if any(re.fullmatch(pattern, c) for pattern in RUN_HERE)]
)
def test_a_quick_command_runs(command: str, tmp_path: Path) -> None:
    if "mycluster" in command:
        command = command.replace("mycluster", "local")
    name = read_catalogue().smoke_names[0]
    if "roundtrip run" in command and (why := describe_missing_toolchains(name)):
        pytest.skip(why)
    environment = command_environment(tmp_path, ROUNDTRIP_SITE="local")
    command = command.replace(".venv/bin/", "")
    script = f". site-configs/activate local && {command}"
    process = run_program("bash", "-c", script, cwd=CHECKOUT, env=environment)
    assert process.returncode == 0, f"{shlex.join(process.args)}: {process.stdout}{process.stderr}"
