"""The link's own GoogleTests: queue, serialisation, hub, loss, commands; and its command line."""

import subprocess
from pathlib import Path

import pytest
from support.programs import CHECKOUT
from vclusterlib import UserError, tools

pytestmark = pytest.mark.nightly

TREE = CHECKOUT / "build" / "testbed" / "tests"


@pytest.fixture(scope="module")
def tree():
    try:
        tools.require_programs(tools.BUILD_PACKAGES)
    except UserError as error:
        pytest.skip(str(error))
    if not Path("/usr/include/gtest/gtest.h").exists():
        pytest.skip("no GoogleTest: apt-get install libgtest-dev")
    options = ["-G", "Ninja", "-D", "BUILD_TESTING=ON", "-D", "CMAKE_BUILD_TYPE=Debug"]
    for command in (
        ["cmake", "-S", str(tools.LINK_SOURCES), "-B", str(TREE), *options],
        ["cmake", "--build", str(TREE), "-j", "2", "--target", "link_tests"],
    ):
        process = subprocess.run(command, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout + process.stderr
    return TREE


def test_googletests_pass(tree):
    process = subprocess.run([tree / "link_tests"], capture_output=True, text=True)
    assert process.returncode == 0, process.stdout
    assert "[  PASSED  ]" in process.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        ([], 2, "say wire or hub"),
        (["wire", "lo"], 2, "a wire needs two ports"),
        (["wire", "lo", "no-such-card"], 1, "interface no-such-card"),
    ],
)
def test_bad_options_are_one_line(tree, arguments, status, reason):
    command = ["unshare", "-rn", str(tools.build_programs() / tools.LINK_PROGRAM), *arguments]
    process = subprocess.run(command, capture_output=True, text=True)
    if "unshare" in process.stderr:
        pytest.skip(f"no user namespace to try in: {process.stderr.strip()}")
    assert process.returncode == status
    assert process.stderr.startswith("roundtrip-link: ")
    assert reason in process.stderr


def test_an_unchanged_source_is_built_once(tree):
    assert tools.build_programs() == tools.build_programs()
    assert (tools.build_programs() / tools.LINK_PROGRAM).stat().st_mode & 0o111
