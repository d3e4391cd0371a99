"""Publishing: ``<reports>/<campaign>/<site>/<UTC date>/r<N>/``, never overwritten; and verifying.

The date is that of the campaign's start.  A revision holds report.html, report.md, figures/, a
copy of the bundle, report.json with the bundle's digest, and warnings.txt if there is any.
"""

from __future__ import annotations

import errno
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.collect import manifest
from roundtrip.errors import UserError, writing
from roundtrip.report import data, html, markdown
from roundtrip.report.build import Correction, build

PAGE = "report.html"
FACTS = "report.json"
WARNINGS = "warnings.txt"
_REVISION = re.compile(r"r([1-9][0-9]*)")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T")


def publish(bundle: Path, reports: Path, correction: Correction | None = None) -> Path:
    """The revision folder of `bundle`: an existing one if it was published already, else a new one.

    UserError for a bundle that does not match its manifest, and for a correction of a revision
    that does not exist.
    """
    checked = manifest.verify(bundle)
    folder = _folder(checked, reports)
    if correction and not (folder / correction.supersedes / FACTS).is_file():
        raise UserError(f"there is no revision {correction.supersedes} to supersede", folder)
    facts = _facts(checked, correction)
    for revision in revisions(folder):
        if _read_facts(revision) == facts:
            return revision
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder))
        try:
            partial.chmod(0o755)
            write(bundle, partial, correction)
            _copy(bundle, partial / "bundle", checked)
            (partial / FACTS).write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")
            return _name(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def write(bundle: Path, folder: Path, correction: Correction | None = None) -> None:
    """Write page, Markdown twin and figures of `bundle` to `folder`."""
    report = build(data.read(bundle), correction)
    (folder / PAGE).write_text(html.render(report), encoding="utf-8")
    (folder / "report.md").write_text(markdown.render(report), encoding="utf-8")
    if report.warnings:
        lines = [f"{_plain(warning)}\n" for warning in report.warnings]
        (folder / WARNINGS).write_text("".join(lines), encoding="utf-8")
    (folder / "figures").mkdir()
    for figure in report.figures:
        (folder / "figures" / f"{figure.name}.svg").write_text(figure.light, encoding="utf-8")
        (folder / "figures" / f"{figure.name}-dark.svg").write_text(figure.dark, encoding="utf-8")


def warnings(revision: Path) -> list[str]:
    """What a reader of this revision is warned of, a line each."""
    file = revision / WARNINGS
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def verify(revision: Path) -> list[str]:
    """Rebuild a published revision from its own bundle; the files that differ, best none."""
    facts = _read_facts(revision)
    if facts is None:
        raise UserError("not a published report", revision / FACTS)
    checked = manifest.verify(revision / "bundle")
    if checked.digest != facts.get("digest"):
        return ["bundle/manifest.json"]
    note = facts.get("supersedes")
    correction = Correction(note, str(facts.get("reason"))) if isinstance(note, str) else None
    with writing(Path(tempfile.gettempdir())), tempfile.TemporaryDirectory() as folder:
        rebuilt = Path(folder)
        write(revision / "bundle", rebuilt, correction)
        names = {_relative(file, rebuilt) for file in rebuilt.rglob("*") if file.is_file()}
        kept = {_relative(file, revision) for file in revision.rglob("*") if file.is_file()}
        kept = {name for name in kept if not name.startswith("bundle/") and name != FACTS}
        return sorted(
            name
            for name in names | kept
            if not (name in names and name in kept)
            or (rebuilt / name).read_bytes() != (revision / name).read_bytes()
        )


def revisions(folder: Path) -> list[Path]:
    """Published revisions of a date, oldest first."""
    found = [(int(match[1]), path) for path in folder.glob("r*") if (match := _number(path))]
    return [path for _, path in sorted(found)]


def _plain(text: str) -> str:
    """One line that does nothing to a terminal."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def _number(path: Path) -> re.Match[str] | None:
    return _REVISION.fullmatch(path.name)


def _folder(checked: manifest.Manifest, reports: Path) -> Path:
    facts = checked.data
    date = _DATE.match(str(facts["started"]))
    if not date:
        raise UserError(f"manifest: started {facts['started']!r} is not a UTC time")
    return reports / str(facts["campaign"]) / str(facts["site"]) / date[1]


def _facts(checked: manifest.Manifest, correction: Correction | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "digest": checked.digest,
        "supersedes": correction.supersedes if correction else None,
        "reason": correction.reason if correction else None,
    }


def _read_facts(revision: Path) -> dict[str, Any] | None:
    try:
        facts = files.read_json(revision / FACTS)
    except UserError:
        return None
    return facts if isinstance(facts, dict) else None


def _copy(bundle: Path, target: Path, checked: manifest.Manifest) -> None:
    for name in (*checked.files, manifest.FILE_NAME):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle / name, target / name)


def _name(partial: Path, folder: Path) -> Path:
    """Give the finished folder the next free number, even if another process publishes too."""
    number = 1 + max((int(_number(path)[1]) for path in revisions(folder)), default=0)  # type: ignore[index]
    while True:
        try:
            return partial.rename(folder / f"r{number}")
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        number += 1


def _relative(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()
