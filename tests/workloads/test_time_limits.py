"""The workloads' own tests have more time where sanitizers make them slow."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.programs import CHECKOUT, needs

from roundtrip import paths
from roundtrip.sites.toolchains.spec import catalogue

TOOLCHAIN = catalogue().smoke[0]
MPI, BOOST = (paths.toolchains() / name for name in (TOOLCHAIN.split("-")[0], TOOLCHAIN))

pytestmark = needs(TOOLCHAIN)


def limits(build: Path, *settings: str) -> tuple[list[int], ...]:
    """Of the tests in a build that is configured, not made: their limits, s, and their patience.

    Tests that GoogleTest lists when they are built have theirs in the rules for building.
    """
    process = subprocess.run(
        [
            *("cmake", "-G", "Ninja", "-S", CHECKOUT / "workloads", "-B", build),
            *("-D", "BUILD_TESTING=ON", "-D", f"Boost_ROOT={BOOST}"),
            *("-D", f"CMAKE_CXX_COMPILER={MPI / 'bin' / 'mpicxx'}", *settings),
        ],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    files = [build / "build.ninja", *build.rglob("CTestTestfile.cmake")]
    text = "".join(file.read_text() for file in files)
    return tuple(
        sorted({int(number) for number in re.findall(pattern, text)})
        for pattern in (r'TIMEOUT[ ;]"?(\d+)', r"PATIENCE=(\d+)")
    )


@pytest.mark.nightly
def test_sanitized_launches_may_take_eight_times_as_long(tmp_path: Path) -> None:
    plain_limits = limits(tmp_path / "usual")
    assert plain_limits == ([60, 120, 300], [1])
    sanitizer_limits = limits(tmp_path / "sanitized", "-D", "ROUNDTRIP_SANITIZE=address,undefined")
    assert sanitizer_limits == ([480, 960, 2400], [8])
