"""The tiers of the tests, their parts, and what a test may cost."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.costs import Costs
from support.tiers import part_of_test

TESTS = Path(__file__).parent
#: A limit that a sleeping test keeps and a busy one does not, the same on every machine.
PLUGIN = """import os
from support import costs
costs.LIMIT_S = float(os.environ.get("LIMIT_S", 0.05))
costs._processor_slowdown = lambda: 1.0
"""
BUSY = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end:\n    pass\n"


@given(st.text(), st.integers(1, 9))
def test_each_test_is_in_one_part(name: str, parts: int) -> None:
    assert 0 <= part_of_test(name, parts) < parts


def test_the_parts_are_the_same_everywhere_and_alike() -> None:
    assert part_of_test("tests/testbed/test_wan.py::test_a_cut_ends_by_itself", 6) == 2
    sizes = [0] * 6
    for number in range(600):
        sizes[part_of_test(f"tests/a.py::test[{number}]", 6)] += 1
    assert min(sizes) > 60


def test_costs_are_summed_for_each_folder() -> None:
    costs = Costs({"tests/a/x.py::t": 1.0, "tests/a/y.py::t": 2.0, "tests/b/x.py::t": 0.5})
    lines = [line.split() for line in costs.report_lines()]
    assert lines[1:3] == [["a", "2", "0.0", "3.0"], ["b", "1", "0.0", "0.5"]]
    assert lines[-3][-1] == "tests/a/y.py::t"


def run(
    folder: Path, test: str, *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Pytest over one file, with a low limit."""
    (folder / "low.py").write_text(PLUGIN)
    (folder / "test_it.py").write_text(f"import pytest\n\n{test}")
    plugins = ("-p", "support.costs", "-p", "support.tiers", "-p", "low")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, "test_it.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{TESTS}:{folder}", **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


#: Leaves the name of the process that ran it.
WHERE = """
@pytest.mark.parametrize("number", range(4))
def test_it(number):
    Path(f"{number}-{__name__}-{os.environ['PYTEST_XDIST_WORKER']}").touch()
"""
#: What a folder does that marks its own tests.
MARKING = """import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "marked":
            item.add_marker(pytest.mark.live)
"""


def busy(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("def test_it():", 1),
        ("@pytest.mark.nightly\ndef test_it():", 0),
        ("@pytest.mark.live\ndef test_it():", 0),
        ("@pytest.fixture\ndef own():", 1),
        ("@pytest.fixture(scope='module')\ndef own():", 0),
    ],
)
def test_a_unit_test_that_costs_more_than_its_limit_fails_the_run(
    tmp_path: Path, head: str, status: int
) -> None:
    tail = "\ndef test_it(own):\n    pass\n" if "fixture" in head else ""
    process = run(tmp_path, f"{head}\n{busy(BUSY)}{tail}")
    assert process.returncode == status, process.stdout
    assert ("make it cheaper, or mark it nightly" in process.stdout) is bool(status)


def test_a_unit_test_just_over_its_limit_is_listed_alone(tmp_path: Path) -> None:
    process = run(tmp_path, f"def test_it():\n{busy(BUSY)}", LIMIT_S="0.2")
    assert process.returncode == 0, process.stdout
    assert "WARNING test_it.py::test_it: 0.3 s of processor time" in process.stdout


def test_what_a_first_run_alone_costs_is_not_counted(tmp_path: Path) -> None:
    """As an import does, or a cache that is filled."""
    test = f"runs = []\n\ndef test_it():\n    runs.append(1)\n    if runs[1:]: return\n{busy(BUSY)}"
    process = run(tmp_path, test)
    assert process.returncode == 0, process.stdout
    assert "1 passed" in process.stdout


@pytest.mark.parametrize("part", ["6/6", "1", "x/2", "1/0"])
def test_a_part_that_is_none_is_one_line(tmp_path: Path, part: str) -> None:
    process = run(tmp_path, "def test_it():\n    pass\n", "--part", part)
    assert process.returncode == 4
    assert f"ERROR: --part {part}: K/N is wanted, with K from 0 to N-1" in process.stderr


def test_a_part_leaves_out_nightly_tests_alone(tmp_path: Path) -> None:
    mark = "@pytest.mark.parametrize('n', range(30))\n"
    tests = f"{mark}@pytest.mark.nightly\ndef test_long(n): pass\n\n{mark}def test_short(n): pass\n"
    counts = []
    for number in range(3):
        process = run(tmp_path, tests, "--part", f"{number}/3", "-q")
        words = process.stdout.splitlines()[-1].split()
        counts.append(int(words[0]) - 30)
    assert sum(counts) == 30
    assert min(counts) > 0


def test_live_tests_run_one_after_another(tmp_path: Path) -> None:
    """In one process, whether they or their folder say that they are live."""
    imports = "import os\nfrom pathlib import Path\nimport pytest\n"
    folder = tmp_path / "marked"
    folder.mkdir()
    (folder / "conftest.py").write_text(MARKING)
    (folder / "test_marked.py").write_text(imports + WHERE)
    options = ("-p", "no:hypothesispytest", "-n", "2", "--dist", "loadgroup", "marked")
    process = run(tmp_path, f"{imports}pytestmark = pytest.mark.live\n{WHERE}", *options)
    assert process.returncode == 0, process.stdout
    name_parts = [path.name.split("-") for path in tmp_path.glob("?-test_*")]
    assert len(name_parts) == 8
    assert len({worker for *_, worker in name_parts}) == 1


#: Notes when each test ran.
WHEN = """
@pytest.mark.parametrize("number", range(6))
def test_it(number):
    begun = time.monotonic()
    time.sleep(0.1)
    Path(f"{__name__}-{number}").write_text(f"{begun} {time.monotonic()}")
"""


def test_no_other_test_runs_beside_a_quiet_one(tmp_path: Path) -> None:
    imports = "import time\nfrom pathlib import Path\n\nimport pytest\n\n"
    (tmp_path / "test_quiet.py").write_text(f"{imports}pytestmark = pytest.mark.quiet\n{WHEN}")
    options = ("-p", "no:hypothesispytest", "-n", "2", "--dist", "loadgroup", "test_quiet.py")
    process = run(tmp_path, f"{imports.removeprefix('import pytest')}{WHEN}", *options)
    assert process.returncode == 0, process.stdout
    spans = {
        file.name: [float(word) for word in file.read_text().split()]
        for file in tmp_path.glob("test_*-?")
    }
    assert len(spans) == 12
    for name, (start, end) in spans.items():
        if name.startswith("test_quiet"):
            other_spans = [span for other_name, span in spans.items() if other_name != name]
            assert all(
                other_end <= start or other_start >= end for other_start, other_end in other_spans
            ), spans


def test_a_pytest_that_a_test_runs_waits_for_no_test_of_the_outer_one(tmp_path: Path) -> None:
    """A quiet test waits for the test that runs it, and holds the turn meanwhile."""
    variables = {"PYTEST_XDIST_TESTRUNUID": "outer", "TMPDIR": str(tmp_path)}
    with (tmp_path / "roundtrip-tests-outer.turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        process = run(tmp_path, "def test_it():\n    pass\n", "-n", "0", **variables)
    assert process.returncode == 0, process.stdout
