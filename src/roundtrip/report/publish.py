"""Publishes reports as ``<reports>/<campaign>/<site>/<UTC date>/r<N>/``, and verifies them.

A report is never overwritten.  The date is that of the campaign's start.  A revision holds
report.html, report.md, figures/, a copy of the bundle, report.json with the digests of the bundle
and of every file, and warnings.txt if there are warnings.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roundtrip.collect import manifest
from roundtrip.errors import UserError, writing
from roundtrip.report import data, html, markdown, revision
from roundtrip.report.build import Correction, build

PAGE = "report.html"
FACTS = revision.FACTS
WARNINGS = "warnings.txt"
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T")


def publish(bundle: Path, reports: Path, correction: Correction | None = None) -> Path:
    """The revision folder of `bundle`: the existing one if it was published, else a new one.

    Two processes at the same time publish one revision.  UserError for a bundle that does not match
    its manifest, a correction of a revision that does not exist, and a damaged revision.
    """
    checked = manifest.verify(bundle)
    folder = _folder(checked, reports)
    wanted = revision.identity(checked, correction)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if found := _published(folder, wanted):
                return found
            if correction and not _exists(folder, correction.supersedes):
                raise UserError(
                    f"there is no revision {correction.supersedes} to supersede", folder
                )
            partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder))
            try:
                partial.chmod(0o755)
                write(bundle, partial, correction)
                _copy(bundle, partial / revision.BUNDLE, checked)
                facts = {**wanted, "files": revision.contents(partial)}
                (partial / FACTS).write_text(revision.facts_text(facts), encoding="utf-8")
                return _name(partial, folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`; wait while another process publishes to it."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _published(folder: Path, wanted: dict[str, Any]) -> Path | None:
    """The revision with the identity `wanted`, None without one; UserError if it is damaged."""
    for path in revision.revisions(folder):
        damage = revision.damage(path, wanted)
        if damage == []:
            return path
        if damage:
            more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
            raise UserError(
                f"{damage[0]}{more} is not as it was published: restore it, or publish a "
                f"correction with --supersedes {path.name} --reason ...",
                path,
            )
    return None


def _exists(folder: Path, name: str) -> bool:
    return revision.number(name) is not None and (folder / name).is_dir()


def write(bundle: Path, folder: Path, correction: Correction | None = None) -> None:
    """Write the page, its Markdown twin and the figures of `bundle` to `folder`."""
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


def warnings(published: Path) -> list[str]:
    """The warnings of this revision, one line each."""
    file = published / WARNINGS
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def verify(published: Path) -> list[str]:
    """Rebuild a published revision from its own bundle; return the paths that differ.

    Everything in the revision is compared, also links and files that do not belong to it.
    UserError if this is no published report, or if its bundle does not match its manifest.
    """
    facts = revision.read_facts(published)
    if facts is None:
        raise UserError("not a published report", published / FACTS)
    checked = manifest.verify(published / revision.BUNDLE)
    if checked.digest != facts.get("digest"):
        return [f"{revision.BUNDLE}/{manifest.FILE_NAME}"]
    note = facts.get("supersedes")
    correction = Correction(note, str(facts.get("reason"))) if isinstance(note, str) else None
    with writing(Path(tempfile.gettempdir())), tempfile.TemporaryDirectory() as folder:
        rebuilt = Path(folder)
        write(published / revision.BUNDLE, rebuilt, correction)
        expected = revision.contents(rebuilt) | revision.of_bundle(checked)
    wanted = revision.identity(checked, correction)
    if "files" in facts:  # which revisions from before lack
        wanted["files"] = expected
    text = revision.facts_text(wanted)
    expected = {**expected, FACTS: hashlib.sha256(text.encode()).hexdigest()}
    return revision.differences(expected, revision.contents(published))


def _plain(text: str) -> str:
    """One line without characters that a terminal would interpret."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def _folder(checked: manifest.Manifest, reports: Path) -> Path:
    facts = checked.data
    date = _DATE.match(str(facts["started"]))
    if not date:
        raise UserError(f"manifest: started {facts['started']!r} is not a UTC time")
    return reports / str(facts["campaign"]) / str(facts["site"]) / date[1]


def _copy(bundle: Path, target: Path, checked: manifest.Manifest) -> None:
    for name in (*checked.files, manifest.FILE_NAME):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle / name, target / name)


def _name(partial: Path, folder: Path) -> Path:
    """Give the finished folder the next free number, even if another process does so too."""
    taken = [revision.number(path.name) or 0 for path in revision.revisions(folder)]
    number = 1 + max(taken, default=0)
    while True:
        try:
            return partial.rename(folder / f"r{number}")
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        number += 1
