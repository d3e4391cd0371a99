"""Publishes reports as ``<reports>/<campaign>/<site>/<UTC date>/r<N>/``, and verifies them.

A report is never overwritten.  The date is that of the run's start; `place` tells of a second run
of a date.  A revision holds
report.html, report.md, figures/, a copy of the bundle, report.json with the digests of the bundle
and of every file, and warnings.txt if there are warnings.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from roundtrip import partial as partials
from roundtrip.collect import manifest, signature
from roundtrip.errors import UserError, writing
from roundtrip.history import attached, ledger, published
from roundtrip.history.annotations import Annotation
from roundtrip.report import data, figures, html, markdown, place, revision
from roundtrip.report.build import Correction, build

PAGE = "report.html"
FACTS = published.FACTS
WARNINGS = "warnings.txt"
_AGAIN = "the run was collected again, with other launches or by another version"
Tell = Callable[[str], None]


def publish(
    bundle: Path,
    reports: Path,
    correction: Correction | None = None,
    tell: Tell = lambda _: None,
    annotations: Callable[[str], Sequence[Annotation]] = lambda _: (),
) -> Path:
    """The revision folder of `bundle`: the existing one if its run was published, else a new one.

    The nights before it, of those in `reports`, go into the copy of the bundle; `tell` is told of
    revisions that had to be left out; `annotations` gives those of a site.  A run that was
    published with other launches is corrected.
    Two processes at the same time publish one revision.  A bundle that its site signed is signed
    again with the nights before it.  UserError for a bundle that does not match its manifest or
    signature, samples that were published as another night, a correction of a revision that does
    not exist, and a damaged revision.
    """
    checked = manifest.verify(bundle)
    signed = signature.of(bundle, checked)
    site = place.site(checked, reports)
    correction = correction and correction.for_everybody()
    with writing(site):
        site.mkdir(parents=True, exist_ok=True)
        with _alone(site):
            night = place.night(site, checked, correction is not None)
            if found := _published(night, checked, correction):
                return found
            place.require_once(site, checked)
            if correction and not _exists(night, correction.supersedes):
                raise UserError(f"there is no revision {correction.supersedes} to supersede", night)
            note = correction or _again(night)
            partial = partials.make(site)
            try:
                partial.chmod(0o755)
                copied = _copy(bundle, partial / published.BUNDLE, checked)
                # What another site signed stays as it is: nobody else could sign it again.
                is_ours = signed == signature.UNSIGNED or signature.is_own(copied)
                if not is_ours:
                    tell(f"{signed.sentence}: no nights before it are put into its report")
                elif not attached.is_in(copied):
                    facts = copied.data
                    said = annotations(facts["site"])
                    known = ledger.read(reports, facts["campaign"], facts["site"], said)
                    for warning in (*known.warnings, *known.remarks):
                        tell(warning)
                    held = partial / published.BUNDLE
                    added = attached.add(held, copied, known, said)
                    if added != copied and signed != signature.UNSIGNED:
                        added = signature.add(held, added, tell)
                    copied = added
                write(partial / published.BUNDLE, partial, note)
                told = {**revision.identity(copied, note), "files": revision.contents(partial)}
                (partial / FACTS).write_text(revision.facts_text(told), encoding="utf-8")
                night.mkdir(exist_ok=True)
                return _name(partial, night)
            finally:
                shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`; wait while another process publishes to it."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _published(
    night: Path, checked: manifest.Manifest, correction: Correction | None
) -> Path | None:
    """The newest revision of what `checked` measured, None without one; UserError if damaged."""
    asked = {"supersedes": correction.supersedes, "reason": correction.reason} if correction else {}
    for path in reversed(published.revisions(night)):
        facts = published.read_facts(path)
        if facts is None:
            damage = [FACTS] if not correction and _holds(path, checked) else None
        elif published.measurement(facts) != checked.measurement:
            continue
        elif asked.items() <= facts.items():
            damage = revision.damage(path, facts)
        else:
            continue
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


def _holds(path: Path, checked: manifest.Manifest) -> bool:
    """Whether the bundle of a revision without facts is of what `checked` measured."""
    try:
        return manifest.verify(path / published.BUNDLE).measurement == checked.measurement
    except UserError:
        return False


def _again(night: Path) -> Correction | None:
    """The note of a revision whose run has one already; None if it has none."""
    there = published.revisions(night)
    return Correction(there[-1].name, _AGAIN) if there else None


def _exists(folder: Path, name: str) -> bool:
    return published.number(name) is not None and (folder / name).is_dir()


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
        for name, text in figures.files(figure):
            (folder / "figures" / name).write_text(text, encoding="utf-8")


def warnings(path: Path) -> list[str]:
    """The warnings of this revision, one line each."""
    file = path / WARNINGS
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def verify(path: Path) -> list[str]:
    """Rebuild a published revision from its own bundle; return the paths that differ.

    Everything in the revision is compared, also links and files that do not belong to it.
    UserError if this is no published report, if its bundle does not match its manifest or its
    signature, or if it is of another campaign, site or date than its folder.
    """
    facts = published.read_facts(path)
    if facts is None:
        raise UserError("not a published report", path / FACTS)
    checked = manifest.verify(path / published.BUNDLE)
    signature.of(path / published.BUNDLE, checked)
    place.require(path, checked)
    if checked.digest != facts.get("digest"):
        return [f"{published.BUNDLE}/{manifest.FILE_NAME}"]
    note = facts.get("supersedes")
    correction = Correction(note, str(facts.get("reason"))) if isinstance(note, str) else None
    with writing(Path(tempfile.gettempdir())), tempfile.TemporaryDirectory() as folder:
        rebuilt = Path(folder)
        write(path / published.BUNDLE, rebuilt, correction)
        expected = revision.contents(rebuilt) | revision.of_bundle(path, checked)
    wanted = revision.identity(checked, correction)
    if "files" in facts:  # which revisions from before lack
        wanted["files"] = expected
    text = revision.facts_text(wanted)
    expected = {**expected, FACTS: hashlib.sha256(text.encode()).hexdigest()}
    return revision.differences(expected, revision.contents(path))


def _plain(text: str) -> str:
    """One line without characters that a terminal would interpret."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)


def _copy(bundle: Path, target: Path, checked: manifest.Manifest) -> manifest.Manifest:
    signed = [manifest.SIGNATURE] if "signer" in checked.data else []
    for name in (*checked.files, manifest.FILE_NAME, *signed):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(bundle / name, target / name)
    return checked


def _name(partial: Path, folder: Path) -> Path:
    """Give the finished folder the next free number, even if another process does so too."""
    taken = [published.number(path.name) or 0 for path in published.revisions(folder)]
    number = 1 + max(taken, default=0)
    while True:
        try:
            return partial.rename(folder / f"r{number}")
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        number += 1
