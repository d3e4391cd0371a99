"""A study is a folder: no file that all studies share names one, and its metrics are declared once,
from where Python and C++ have them.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import CHECKOUT, copy_from_checkout, run_program

from roundtrip.errors import UserError
from roundtrip.study import METRICS, Metric, read_metrics

WORKLOADS = CHECKOUT / "workloads"
STUDIES = [file.parent.name for file in WORKLOADS.glob("*/CMakeLists.txt")]
#: The studies that the design names.  The name of a new one, as barrier, may be a word of MPI.
NAMED = re.findall(r"^\| `(\w+)` \|", (CHECKOUT / "docs/design.md").read_text(), re.MULTILINE)
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(metrics LANGUAGES NONE)
set(ROUNDTRIP_WORKLOADS ${CMAKE_CURRENT_SOURCE_DIR})
include(cmake/Metrics.cmake)
configure_file(core/metrics.hpp.in metrics.hpp @ONLY)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout that holds the declarations, and of the workloads what reads them."""
    files = [WORKLOADS / name for name in ("cmake/Metrics.cmake", "core/metrics.hpp.in")]
    files += (CHECKOUT / "src/roundtrip/studies").rglob("metrics.json")
    copy_from_checkout(files, tmp_path)
    (tmp_path / "workloads/CMakeLists.txt").write_text(PROJECT)
    return tmp_path


def configured(tree: Path) -> subprocess.CompletedProcess[str]:
    return run_program("cmake", "-S", tree / "workloads", "-B", tree / "build")


def in_cpp(tree: Path) -> dict[str, str]:
    process = configured(tree)
    assert process.returncode == 0, process.stderr
    pattern = r'Metric (\w+)\{\.name = "(\w+)", \.unit = "([^"]+)"\};'
    metrics = re.findall(pattern, (tree / "build/metrics.hpp").read_text())
    assert all(identifier == name for identifier, name, _ in metrics)
    return {name: unit for _, name, unit in metrics}


def test_cpp_has_the_metrics_of_python(tree: Path) -> None:
    assert in_cpp(tree) == {name: metric.unit for name, metric in METRICS.items()}
    assert METRICS["half_round_trip_time"] == Metric("s", lower_is_better=True)
    assert METRICS["message_rate"] == Metric("1/s", False, may_be_zero=True)


def test_a_study_adds_a_metric_in_its_package(tree: Path) -> None:
    package = tree / "src/roundtrip/studies/barrier"
    package.mkdir()
    (package / "metrics.json").write_text('{"skew": {"unit": "us", "lower_is_better": true}}')
    assert in_cpp(tree)["skew"] == "us"
    assert read_metrics(package.parent)["skew"] == Metric("us", lower_is_better=True)


def test_two_studies_declare_a_metric_alike_or_not_at_all(tree: Path) -> None:
    package = tree / "src/roundtrip/studies/barrier"
    package.mkdir()
    file = package / "metrics.json"
    file.write_text('{"lap_time": {"lower_is_better": true, "unit": "s"}}')
    assert read_metrics(package.parent) == METRICS
    assert in_cpp(tree) == {name: metric.unit for name, metric in METRICS.items()}
    file.write_text('{"bandwidth": {"unit": "B/s", "lower_is_better": false}}')
    with pytest.raises(UserError, match="another study declares the metric 'bandwidth' differe"):
        read_metrics(package.parent)
    process = configured(tree)
    assert process.returncode != 0
    assert "another study declares the metric bandwidth differently" in process.stderr


def test_workloads_outside_a_checkout_say_what_is_missing(tree: Path) -> None:
    shutil.rmtree(tree / "src")
    process = configured(tree)
    assert process.returncode != 0
    assert "workloads/ is built inside a checkout of Roundtrip" in " ".join(process.stderr.split())


def shared() -> list[Path]:
    """The build files, the rules of the style checks, and what all programs are made of."""
    core = [file for file in (WORKLOADS / "core").glob("*") if file.is_file()]
    recipes = CHECKOUT / "spack_repo/roundtrip"
    recipe = recipes / "packages/roundtrip_workloads/package.py"
    names = ("Makefile", ".clang-tidy", ".clang-format")
    build = [WORKLOADS / "CMakeLists.txt", WORKLOADS / "CMakePresets.json"]
    return [
        *(CHECKOUT / n for n in names),
        *build,
        *WORKLOADS.glob("cmake/*"),
        *core,
        recipe,
        *recipes.glob("build_systems/*.py"),
    ]


def test_there_are_studies_to_look_for() -> None:
    assert {"core", "netpipe", "ddtbench", "npb", "ring"} <= set(STUDIES)
    assert len(shared()) > 20


def test_no_shared_file_names_a_study() -> None:
    names = "|".join(name for name in STUDIES if name in NAMED)
    mentions = [
        f"{file.relative_to(CHECKOUT)}:{number}: {line}"
        for file in shared()
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(rf"\b({names})\b|\b({names})_", line)
    ]
    assert mentions == []
