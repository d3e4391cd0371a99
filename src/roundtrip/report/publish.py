"""Publishes reports, and verifies them.

A report is never overwritten.  A second run on a date gets a night of its own, so a second revision
of a night is always a correction.  In older trees a second run on a date can be the next revision
of the same night; it stays there.  A revision holds the page, also as Markdown, its summary,
figures/ (SVG and PDF), tables/ (CSV), a copy of the bundle, the digests of all, and warnings if
there are some.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.cause import page
from roundtrip.content import data, nights
from roundtrip.errors import UserError, report_write_errors
from roundtrip.history import ledger, published
from roundtrip.history.annotations import Annotation
from roundtrip.measure import manifest, signature, store
from roundtrip.measure.manifest import Manifest
from roundtrip.report import painter, pdf, renderers
from roundtrip.report.build import Correction, build_report

_DATE_PATTERN = re.compile(r"(\d{4}-\d\d-\d\d)T")
_COLLECTED_AGAIN_REASON = "the run was collected again, with other launches or by another version"
PrintLine = Callable[[str], None]


def revision_identity(bundle_manifest: Manifest, correction: Correction | None) -> dict[str, Any]:
    """Bundle and correction; `measurement`: the digest without the nights that the bundle holds."""
    measurement = bundle_manifest.measurement_digest
    return {
        "schema": 1,
        "digest": bundle_manifest.digest,
        **({"measurement": measurement} if measurement != bundle_manifest.digest else {}),
        "supersedes": correction.supersedes if correction else None,
        "reason": correction.reason if correction else None,
    }


def bundle_digest_by_path(revision: Path, bundle_manifest: Manifest) -> dict[str, str]:
    """sha256 by path of the copy of a bundle; only its signer can make the signature again."""
    digests = {name: str(entry["sha256"]) for name, entry in bundle_manifest.data["files"].items()}
    digests[manifest.MANIFEST_FILE] = bundle_manifest.digest
    if "signer" in bundle_manifest.data:
        signature_file = store.bundle_folder(revision) / manifest.SIGNATURE_FILE
        digests[manifest.SIGNATURE_FILE] = files.sha256(signature_file.read_bytes())
    return {store.bundle_file_path(name): digest for name, digest in digests.items()}


def differing_paths(
    digest_by_path: Mapping[str, str], other_digest_by_path: Mapping[str, str]
) -> list[str]:
    """Sorted paths in only one, or with different content."""
    return sorted({path for path, _ in digest_by_path.items() ^ other_digest_by_path.items()})


def damaged_paths(revision: Path, facts: Mapping[str, Any]) -> list[str]:
    """Paths in a revision that differ from the digests in its `facts`.

    An older revision without digests is compared with its manifest; UserError if it differs.
    """
    if not isinstance(facts.get("files"), dict):
        manifest.verify(store.bundle_folder(revision))
        return []
    return differing_paths(store.digest_by_path(revision), add_facts_digest(facts["files"], facts))


def add_facts_digest(digests: Mapping[str, str], facts: Mapping[str, Any]) -> dict[str, str]:
    """`store.digest_by_path` of a revision: `digests` of its other files, and of its `facts`."""
    return {**digests, store.FACTS_FILE: files.sha256(store.facts_json(facts).encode())}


def site_folder(bundle_manifest: Manifest, reports: Path) -> Path:
    """The folder of a bundle's campaign on its site."""
    facts = bundle_manifest.data
    return store.site_folder(reports, facts["campaign"], facts["site"])


def night_folder(folder: Path, bundle_manifest: Manifest, is_correction: bool) -> Path:
    """The folder of the night of a bundle, in `folder`, that of its campaign on its site.

    It is the folder that has a revision of the same run.  Without one it is a new folder; for a
    bundle that corrects another run, it is the first folder of its date.  UserError if the start of
    the bundle is not a time.
    """
    start = bundle_manifest.data["started"]
    date = _DATE_PATTERN.match(start)
    if not date:
        raise UserError(f"manifest: started {start!r} is not a UTC time")
    for night in store.night_folders(folder):
        if store.night_date(night) != date[1]:
            continue
        for path in store.revisions(night):  # even a partly damaged one says of which run it is
            measurement = published.measurement_digest(store.read_facts(path))
            if (
                bundle_manifest.measurement_digest == measurement
                or read_unverified_manifest(path).get("started") == start
            ):
                return night
    return store.night_folder(folder, date[1], is_free=not is_correction)


def require_matching_folder(revision: Path, bundle_manifest: Manifest) -> None:
    """Raise UserError if a night's folder is of another campaign, site or date than its bundle."""
    facts = bundle_manifest.data
    names = facts["campaign"], facts["site"], facts["started"][:10]
    folder_names = store.campaign_site_date(revision) or names
    for bundle_name, folder_name in zip(names, folder_names, strict=True):
        if bundle_name != folder_name:
            reason = f"its bundle is of {bundle_name}, but it lies in the folder of {folder_name}"
            raise UserError(reason, revision)


def require_unpublished(folder: Path, bundle_manifest: Manifest) -> None:
    """Raise UserError if the samples of a bundle are published as another night in `folder`."""
    digests = manifest.run_digests(bundle_manifest.data)
    for path in store.all_revisions(folder):
        content = read_unverified_manifest(path)
        is_same = manifest.run_digests(content) == digests != ""
        if is_same and content.get("started") != bundle_manifest.data["started"]:
            reason = f"its samples are those of {path}: one run is one night, whatever its date"
            raise UserError(reason)


def read_unverified_manifest(revision: Path) -> dict[str, Any]:
    """The manifest of a revision's bundle, unverified; empty if it cannot be read."""
    try:
        content = files.read_json(store.bundle_folder(revision) / manifest.MANIFEST_FILE)
    except UserError:
        return {}
    return content if isinstance(content, dict) else {}


def publish(
    bundle: Path,
    reports: Path,
    correction: Correction | None = None,
    print_line: PrintLine = lambda _: None,
    annotations_of_site: Callable[[str], Sequence[Annotation]] = lambda _: (),
) -> Path:
    """Return the revision of `bundle`: the existing one if its run was published, else a new one.

    The copy of the bundle gets the nights before it from `reports`.  `print_line` gets a line for
    each revision that is left out; `annotations_of_site` returns those of a site.  A run that was
    published with other launches is corrected.  Two processes at the same time publish one
    revision.  A bundle that its site signed is signed again with the nights before it.  UserError
    if the bundle does not match its manifest or signature, if its samples were published as another
    night, if the corrected revision does not exist, or if a revision is damaged.
    """
    bundle_manifest = manifest.verify(bundle)
    signature_state = signature.check_signature(bundle, bundle_manifest)
    site = site_folder(bundle_manifest, reports)
    correction = correction and correction.without_private_words()
    with store.hold_folder(site):
        night = night_folder(site, bundle_manifest, correction is not None)
        if revision := _existing_revision(night, bundle_manifest, correction):
            return revision
        require_unpublished(site, bundle_manifest)
        names = [path.name for path in store.revisions(night) if path.is_dir()]
        if correction and correction.supersedes not in names:
            raise UserError(f"there is no revision {correction.supersedes} to supersede", night)
        note = correction or (Correction(names[-1], _COLLECTED_AGAIN_REASON) if names else None)
        with files.draft_folder(site) as draft:
            bundle_copy = store.copy_bundle(bundle, draft, bundle_manifest)
            copy_manifest, is_unsigned = bundle_manifest, signature_state == signature.UNSIGNED
            # A bundle of another signer stays unchanged: only that signer can sign it again.
            if not is_unsigned and not signature.names_own_key(bundle_manifest):
                print_line(f"{signature_state.sentence}: its report includes no earlier nights")
            elif not ledger.has_history(bundle_manifest):
                notes = annotations_of_site(site.name)
                copy_manifest = attach_past_nights(
                    bundle_copy, bundle_manifest, reports, notes, print_line
                )
                if copy_manifest != bundle_manifest and not is_unsigned:
                    copy_manifest = signature.sign(bundle_copy, copy_manifest, print_line)
            write_revision(bundle_copy, draft, note)
            return store.add_revision(draft, night, revision_identity(copy_manifest, note))


def attach_past_nights(
    bundle: Path,
    bundle_manifest: Manifest,
    reports: Path,
    annotations: Sequence[Annotation],
    tell: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Attach the earlier nights; return the new manifest.  `tell` gets a line for each left out."""
    data = bundle_manifest.data
    # The bundle has the name that holds in its night.
    notes = [each for each in annotations if not each.renames(data["started"])]
    past = ledger.read_ledger(reports, data["campaign"], data["site"], notes)
    for warning in (*past.warnings, *past.remarks):
        tell(warning)
    notes = nights.with_carried_acceptances(past.nights, past.provenance, notes)
    return ledger.attach_history(bundle, bundle_manifest, past, notes)


def _existing_revision(
    folder: Path, bundle_manifest: Manifest, correction: Correction | None
) -> Path | None:
    """The newest revision of the same measurement; None without one, UserError if damaged."""
    correction_facts = asdict(correction) if correction else {}
    for path in reversed(store.revisions(folder)):
        facts = store.read_facts(path)
        if facts is None:
            if correction or not _is_damaged_copy(path, bundle_manifest):
                continue
            changed_paths = [store.FACTS_FILE]
        elif (
            published.measurement_digest(facts) == bundle_manifest.measurement_digest
            and correction_facts.items() <= facts.items()
        ):
            changed_paths = damaged_paths(path, facts)
        else:
            continue
        if not changed_paths:
            return path
        raise UserError(
            f"{describe_paths(changed_paths)} is not as it was published: restore it, or publish a "
            f"correction with --supersedes {path.name} --reason ...",
            path,
        )
    return None


def describe_paths(paths: Sequence[str]) -> str:
    """The first of some changed paths, and how many more there are."""
    return paths[0] + (f" (and {len(paths) - 1} more)" if len(paths) > 1 else "")


def _is_damaged_copy(path: Path, bundle_manifest: Manifest) -> bool:
    """Whether a revision without facts has a bundle of the same measurement."""
    try:
        other_manifest = manifest.verify(store.bundle_folder(path))
    except UserError:
        return False
    return other_manifest.measurement_digest == bundle_manifest.measurement_digest


def write_revision(bundle: Path, folder: Path, correction: Correction | None = None) -> None:
    """Write the page of `bundle` to `folder`, with its Markdown, warnings, figures and tables."""
    if store.is_search_bundle(bundle):
        report = page.report(bundle)
    else:
        report = build_report(data.read_bundle(bundle), correction)
    texts = {
        store.PAGE_FILE: renderers.render_html(report),
        store.MARKDOWN_FILE: renderers.render_markdown(report),
        store.SUMMARY_FILE: renderers.render_summary(report),
    }
    if report.warnings:
        lines = map(_printable_line, report.warnings)
        texts[store.WARNINGS_FILE] = "".join(f"{line}\n" for line in lines)
    for name, table in report.table_by_file_name.items():
        texts[f"tables/{name}"] = renderers.render_csv(table)
    (folder / "figures").mkdir()
    (folder / "tables").mkdir()
    for figure in report.figures:
        for stem, text in zip(painter.file_stems(figure), painter.svg_files(figure), strict=True):
            texts[f"figures/{stem}.svg"] = text
            (folder / "figures" / f"{stem}.pdf").write_bytes(pdf.pdf_from_svg(text))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def read_warnings(path: Path) -> list[str]:
    """The warnings of this revision, one line each."""
    file = store.file_path(path, store.WARNINGS_FILE)
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


def verify_revision(path: Path) -> list[str]:
    """Rebuild a published revision from its own bundle; return the paths that differ.

    Everything in the revision is compared, including links and files that do not belong to it.
    UserError if this is no published report, if its bundle does not match its manifest or its
    signature, or if it is of another campaign, site or date than its folder.
    """
    facts = store.read_facts(path)
    if facts is None:
        raise UserError("not a published report", store.file_path(path, store.FACTS_FILE))
    bundle_manifest = manifest.verify(store.bundle_folder(path))
    signature.check_signature(store.bundle_folder(path), bundle_manifest)
    require_matching_folder(path, bundle_manifest)
    if bundle_manifest.digest != facts.get("digest"):
        return [store.bundle_file_path(manifest.MANIFEST_FILE)]
    note = facts.get("supersedes")
    correction = Correction(note, str(facts.get("reason"))) if isinstance(note, str) else None
    with report_write_errors(Path(tempfile.gettempdir())), tempfile.TemporaryDirectory() as folder:
        new_revision = Path(folder)
        write_revision(store.bundle_folder(path), new_revision, correction)
        bundle_digests = bundle_digest_by_path(path, bundle_manifest)
        new_digests = store.digest_by_path(new_revision) | bundle_digests
    new_facts = revision_identity(bundle_manifest, correction)
    if "files" in facts:  # older revisions have none
        new_facts["files"] = dict(new_digests)
    return differing_paths(add_facts_digest(new_digests, new_facts), store.digest_by_path(path))


def _printable_line(text: str) -> str:
    """One line without characters that a terminal would interpret."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
