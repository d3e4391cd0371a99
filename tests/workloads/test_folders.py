"""A study is a folder of workloads/: no file that all studies share names one."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
WORKLOADS = CHECKOUT / "workloads"
STUDIES = [file.parent.name for file in WORKLOADS.glob("*/CMakeLists.txt")]
#: The studies that the design names.  The name of a new one, as barrier, may be a word of MPI.
NAMED = re.findall(r"^\| `(\w+)` \|", (CHECKOUT / "docs/design.md").read_text(), re.MULTILINE)


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
