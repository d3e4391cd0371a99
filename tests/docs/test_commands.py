"""Every command in the guides is run by a test, here or by one named here, or by hand: then a table
of a guide says when."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from support.documented import RUN_ELSEWHERE

from roundtrip import paths
from roundtrip.sites.toolchains.spec import catalogue

CHECKOUT = Path(__file__).parents[2]
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


def test_the_guides_have_commands() -> None:
    assert len(ALL) > 20


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
    name = catalogue().smoke[0]
    if "roundtrip run" in command and not (paths.toolchains() / name).exists():
        pytest.skip(f"toolchain {name} is not installed: make setup")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROUNDTRIP_RUNS": str(tmp_path),
        "ROUNDTRIP_SITE": "local",
    }
    command = command.replace(".venv/bin/", "")
    script = f". site-configs/activate local && {command}"
    process = subprocess.run(
        ["bash", "-c", script], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, f"{shlex.join(process.args)}: {process.stdout}{process.stderr}"


def test_the_targets_of_make_exist_and_those_outside_make_test_are_documented() -> None:
    phony = re.findall(r"^\.PHONY: (.*)", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    targets = {
        name for guide in pages() for name in re.findall(r"\bmake ([a-z-]+)`", guide.read_text())
    }
    assert targets <= set(" ".join(phony).split())
    assert {"faults", "fuzz", "sanitize"} <= targets


def pages() -> list[Path]:
    """Every page of Markdown in the checkout that people read."""
    names = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=CHECKOUT, check=True, capture_output=True, text=True
    ).stdout.split()
    return [CHECKOUT / name for name in names if (CHECKOUT / name).exists()]


def anchors(page: Path) -> set[str]:
    """What links may name of a page: its headings as GitHub and mkdocs call them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere() -> None:
    for page in pages():
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
            name, _, anchor = target.partition("#")
            if name.startswith("http"):
                continue
            file = page.parent / name if name else page
            assert file.exists(), f"{page.name} links to {target}"
            if anchor and file.suffix == ".md":
                assert anchor in anchors(file), f"{page.name} links to {target}"
