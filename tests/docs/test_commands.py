"""Every command in the guides is run by a test, here or by one named here, or is said not to be."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from roundtrip import paths

CHECKOUT = Path(__file__).parents[2]
GUIDES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]

#: Commands that are quick and change nothing: run as they stand.
RUN_HERE = [
    r"(\.venv/bin/)?roundtrip doctor",
    r"(\.venv/bin/)?roundtrip run \S+( --site \S+)? --dry-run",
    r"(\.venv/bin/)?roundtrip toolchains --list",
    r"bash -c '\. site-configs/activate local && reframe -c checks -R -l'",
    r"reframe -c checks -R -l",
    r"\. site-configs/activate (local|infiniband)",
]
#: Other commands, and the test that runs them.
RUN_ELSEWHERE = {
    r"make campaign": "tests/end_to_end/test_campaign.py",
    r"make test": ".ci/run",
    r"roundtrip run \S+ --site \S+": "tests/end_to_end/test_campaign.py",
    r"(\.venv/bin/)?roundtrip run smoke --resume": "tests/end_to_end/test_campaign.py",
    r"roundtrip history SITE( .*)?": "tests/history/test_command.py",
    r"roundtrip import SITE .*": "tests/imported/test_command.py",
    r"roundtrip publish .* --to .*": "tests/report/test_public.py",
    r"roundtrip ab \S+ \S+( --.*)?": "tests/end_to_end/test_ab.py",
    r"roundtrip compare .*": "tests/cli/test_compare.py",
    r"roundtrip (collect|report) .*": "tests/report/test_publish.py",
    r"(\.venv/bin/)?roundtrip site (new|check|lock)( .*)?": "tests/sites",
    r"python3 -m venv \.venv": "tests/setup/test_bootstrap.py",
    r"(\.venv/bin/)?pip (install|download) .*": "tests/setup/test_bootstrap.py",
    r"reframe -c checks -R (-n \w+ )?-r": "tests/end_to_end/test_virtual.py",
    r"sbatch campaigns/nightly.sbatch": "tests/end_to_end/test_virtual.py",
    r"testbed/vcluster (up|down|exec) ?.*": "tests/testbed",
    r"mpirun -n 2 build/.*": "workloads/netpipe/tests",
    r"\. site-configs/activate (SITE|mycluster)": "tests/checks/test_site_local.py",
}
#: Run by hand with Spack v1.1.0 and by no test: they take minutes, internet or a whole Spack.
BY_HAND = [
    r"spack (-v )?(compiler|env|concretize|install|mirror|repo|buildcache)( .*)?",
    r"git clone --depth=\d .*/spack(-packages)?\.git \S+",
    r"(\. |export SPACK_PYTHON=)\S*(setup-env\.sh|python3)",
    r"apt-get source --download-only netpipe",
]


def commands(guide: Path) -> list[str]:
    """Indented lines of a guide, without comments; none of TOML, which is indented deeper, and none
    of Python in fences."""
    found = []
    text = re.sub(r"```python.*?```", "", guide.read_text(), flags=re.DOTALL)
    for line in text.splitlines():
        if re.match(r" {4}\S", line):
            bare = re.split(r"\s{2,}# ", line.strip())[0]
            found += [bare] if "'" in bare else bare.split(" && ")
    return found


#: Its commands build on each other: tests/studies/test_new.py runs all of them in their order.
IN_ORDER = {"add-a-study.md"}
ALL = sorted({c for guide in GUIDES if guide.name not in IN_ORDER for c in commands(guide)})


def test_the_guides_have_commands() -> None:
    assert len(ALL) > 20


@pytest.mark.parametrize("command", ALL)
def test_a_command_is_run_by_a_test(command: str) -> None:
    if any(re.fullmatch(pattern, command) for pattern in [*RUN_HERE, *BY_HAND]):
        return
    tests = [test for pattern, test in RUN_ELSEWHERE.items() if re.fullmatch(pattern, command)]
    assert tests, f"no test runs: {command}"
    assert all((CHECKOUT / test).exists() for test in tests), tests


@pytest.mark.parametrize(
    "command", [c for c in ALL if any(re.fullmatch(pattern, c) for pattern in RUN_HERE)]
)
def test_a_quick_command_runs(command: str, tmp_path: Path) -> None:
    if "mycluster" in command:
        command = command.replace("mycluster", "local")
    installed = paths.toolchains() / "openmpi41-boost181"
    if "roundtrip run" in command and not installed.exists():
        pytest.skip("toolchain openmpi41-boost181 is not installed: make setup")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROUNDTRIP_RUNS": str(tmp_path),
        "ROUNDTRIP_SITE": "local",
    }
    command = command.replace(".venv/bin/", "")
    script = f". site-configs/activate local && {command}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=CHECKOUT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{shlex.join(done.args)}: {done.stdout}{done.stderr}"


def test_the_targets_of_make_exist_and_those_that_make_test_leaves_out_are_told() -> None:
    phony = re.findall(r"^\.PHONY: (.*)", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    told = {
        name for guide in GUIDES for name in re.findall(r"\bmake ([a-z-]+)`", guide.read_text())
    }
    assert told <= set(" ".join(phony).split())
    assert {"faults", "fuzz", "sanitize"} <= told


def test_links_between_documents_lead_somewhere() -> None:
    for guide in GUIDES:
        for target in re.findall(r"\]\(([^)#]+)\)", guide.read_text()):
            if not target.startswith("http"):
                assert (guide.parent / target).exists(), f"{guide.name} links to {target}"
