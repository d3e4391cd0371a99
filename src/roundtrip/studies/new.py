"""Writes the rooms of a new study from ``template/``: a small study that works."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from roundtrip import studies
from roundtrip.errors import UserError, writing

_NAME = re.compile(r"[a-z][a-z0-9]{1,29}")
#: Folders of the template, and where their files go.
_PLACES = {
    "workload": "workloads/{name}",
    "checks": "checks/{name}",
    "campaigns": "campaigns",
    "room": "src/roundtrip/studies/{name}",
    "tests": "tests/studies/{name}",
}


def write(name: str, checkout: Path) -> list[Path]:
    """Write all files of study `name` and return their paths, relative to `checkout`, sorted.

    UserError, and nothing is written, if the name cannot be used or one of the files exists.
    """
    _require_usable(name)
    files = {Path(place): text for place, text in _rendered(name)}
    for file in files:
        if (checkout / file).exists():
            raise UserError("is there already: choose another name", checkout / file)
    for file, text in files.items():
        with writing(checkout / file):
            (checkout / file).parent.mkdir(parents=True, exist_ok=True)
            (checkout / file).write_text(text, encoding="utf-8")
    return sorted(files)


def _require_usable(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UserError(
            f"{name[:60]!r} cannot name a study: right is a lower-case word of 2 to 30 letters and "
            "digits, such as barrier"
        )
    here = {entry.name.removesuffix(".py") for entry in resources.files(studies).iterdir()}
    if name in here:
        raise UserError(f"src/roundtrip/studies/{name} is there already: choose another name")


def _rendered(name: str) -> list[tuple[str, str]]:
    """(path below the checkout, text) of each file; ``NAME`` in a path becomes the study's name."""
    template = resources.files(studies).joinpath("template")
    words = {"{{name}}": name, "{{Name}}": name.capitalize()}
    found = []
    for folder, place in _PLACES.items():
        for path, entry in _files(template.joinpath(folder)):
            text = entry.read_text(encoding="utf-8")
            for word, told in words.items():
                text = text.replace(word, told)
            target = f"{place.format(name=name)}/{path}".removesuffix(".in")
            found.append((target.replace("NAME", name), text))
    return found


def _files(folder: Traversable, prefix: str = "") -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            found += _files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".in"):
            found.append((f"{prefix}{entry.name}", entry))
    return found
