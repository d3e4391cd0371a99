"""The design says where things live: they must be there, and every folder must be named."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
DESIGN = (CHECKOUT / "docs" / "design.md").read_text()


def section(title: str) -> str:
    return DESIGN.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[list[str]]:
    """Cells of the tables of a section, without their headings."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_answer_of_where_something_lives_is_there() -> None:
    answers = [re.findall(r"`([^`]+)`", row[-1]) for row in rows("Where does it live?")[1:]]
    assert len(answers) >= 7 and all(answers)
    for path in (path for paths in answers for path in paths):
        assert (CHECKOUT / path).exists(), f"docs/design.md: there is no {path}"


def test_every_folder_of_the_checkout_and_of_the_package_is_named() -> None:
    folders = section("Folders")
    files = subprocess.run(
        ["git", "ls-files"], cwd=CHECKOUT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    top_folders = {path.split("/")[0] for path in files if "/" in path and not path.startswith(".")}
    assert top_folders and not {name for name in top_folders if f"`{name}/" not in folders}
    package_parts = [path.split("/")[2:] for path in files if path.startswith("src/roundtrip/")]
    packages = {parts[0] for parts in package_parts if len(parts) > 1}
    assert packages and not {name for name in packages if f"`{name}/" not in folders}


def test_the_studies_of_the_design_have_their_folders() -> None:
    """A new study need not be added to the design: it is found by its folder."""
    studies = [row[0].strip("`") for row in rows("The studies")[1:]]
    assert len(studies) >= 5
    for study in studies:
        assert (CHECKOUT / "src/roundtrip/studies" / study / "__init__.py").is_file()
        assert (CHECKOUT / "checks" / study).is_dir()
