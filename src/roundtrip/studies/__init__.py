"""The studies, one package each, and their shared modules.  No other code names a study.

`create_study` writes the folders of a new study from ``template/``, a small working study.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from roundtrip.errors import UserError, report_write_errors

_STUDIES_FOLDER = Path(__file__).parent
_STUDY_NAME_PATTERN = re.compile(r"[a-z][a-z0-9]{1,29}")
#: Destination of the files in each folder of the template.
_DESTINATION_BY_TEMPLATE_FOLDER = {
    "workload": "workloads/{name}",
    "checks": "checks/{name}",
    "campaigns": "campaigns",
    "package": "src/roundtrip/studies/{name}",
    "tests": "tests/studies/{name}",
}


def create_study(name: str, checkout: Path) -> list[Path]:
    """Write all files of study `name` and return their paths, relative to `checkout`, sorted.

    UserError, and nothing is written, if the name cannot be used or one of the files exists.
    """
    if not _STUDY_NAME_PATTERN.fullmatch(name) or keyword.iskeyword(name):
        raise UserError(
            f"invalid study name {name[:60]!r}: use 2 to 30 lower-case letters or digits, the "
            "first a letter, and no keyword of Python: for example barrier"
        )
    if name in {entry.name.removesuffix(".py") for entry in _STUDIES_FOLDER.iterdir()}:
        raise UserError(f"src/roundtrip/studies/{name} already exists: choose another name")
    files = {}
    for folder, destination in _DESTINATION_BY_TEMPLATE_FOLDER.items():
        template = _STUDIES_FOLDER / "template" / folder
        for file in sorted(template.rglob("*.in")):
            path = f"{destination.format(name=name)}/{file.relative_to(template).with_suffix('')}"
            text = file.read_text(encoding="utf-8").replace("{{name}}", name)
            files[Path(path.replace("NAME", name))] = text.replace("{{Name}}", name.capitalize())
    for file in files:
        if (checkout / file).exists():
            raise UserError("already exists: choose another name", checkout / file)
    for file, text in files.items():
        with report_write_errors(checkout / file):
            (checkout / file).parent.mkdir(parents=True, exist_ok=True)
            (checkout / file).write_text(text, encoding="utf-8")
    return sorted(files)
