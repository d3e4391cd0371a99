"""Copies published reports and imports into a tree that a static host can serve.

Nothing in the tree is overwritten, and every revision and import in it is complete.  `fields` lists
what a copy discloses: columns of tables and leaves of JSON and TOML, from which pages and figures
are drawn.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError, printable
from roundtrip.history import imported_nights
from roundtrip.measure import manifest, reader, signature, store
from roundtrip.measure.manifest import Manifest
from roundtrip.model import is_name
from roundtrip.report import publish

#: Keys that are only identifiers, such as Spack hashes, form one field.
_HASH_PATTERN = re.compile(r"[0-9a-z]{32}")
_MAX_VALUES, _MAX_VALUE_LENGTH = 4, 70
_COMMIT_HINT = "commit the changes (or `git stash` them), and run the campaign again"


@dataclass(frozen=True)
class DisclosedField:
    """A field that a copy discloses; `values`: all, sorted; new: not published before."""

    name: str
    values: tuple[str, ...]
    new_values: tuple[str, ...]
    is_new: bool

    @property
    def terminal_line(self) -> str:
        """A terminal line: whether the field is new, its name, some values, new ones first."""
        kind = "new" if self.is_new else "changed" if self.new_values else ""
        values = list(dict.fromkeys([*self.new_values, *self.values]))
        excerpts = [
            value if len(value) <= _MAX_VALUE_LENGTH else f"{value[:_MAX_VALUE_LENGTH]}..."
            for value in values[:_MAX_VALUES]
        ]
        more = f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
        return printable(f"{kind:8} {self.name} = {' | '.join(excerpts)}{more}")


def disclosed_fields(folder: Path, public: Path) -> list[DisclosedField]:
    """All fields of a revision or import; new is what its site's newest in `public` lacks.
    UserError for a file that cannot be read."""
    new_values = dict(_field_values(folder))
    facts, old_values = publish.read_unverified_manifest(folder), dict[str, set[str]]()
    if "campaign" in facts and "site" in facts:
        site = store.site_folder(public, str(facts["campaign"]), str(facts["site"]))
        for newest in store.all_revisions(site)[-1:]:
            old_values = dict(_field_values(newest))
    return [
        DisclosedField(
            name,
            tuple(sorted(values)),
            tuple(sorted(values - old_values.get(name, set()))),
            is_new=name not in old_values,
        )
        for name, values in sorted(new_values.items())
    ]


def _field_values(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Pairs of field, ``file name``, and its distinct values; ``numbers`` for numbers in tables."""
    for path in sorted(store.digest_by_path(folder)):
        name, file = path.removeprefix(store.bundle_file_path("")), store.file_path(folder, path)
        if not file.is_file():
            continue
        if file.suffix == ".parquet":
            yield from _table_column_values(name, file)
        elif file.suffix in (".json", ".lock", ".toml"):
            text, is_toml = files.read_text(file), file.suffix == ".toml"
            data = files.parse_toml(text, file) if is_toml else files.parse_json(text, file)
            if file.name in (manifest.MANIFEST_FILE, store.FACTS_FILE) and isinstance(data, dict):
                data = {key: value for key, value in data.items() if key != "files"}
            values: dict[str, set[str]] = defaultdict(set)
            for field, value in _flatten(data, name):
                values[field].add(value)
            yield from values.items()
        elif file.suffix == ".txt":
            yield name, set(files.read_text(file).splitlines())


def _table_column_values(file_name: str, file: Path) -> Iterator[tuple[str, set[str]]]:
    try:
        table = pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"not a table: {error}", file) from None
    for column in table:
        values = column.drop_nulls().unique().to_list()
        if isinstance(column.dtype, pl.List):
            values = [item for items in values for item in items]
        is_number = bool(values) and not any(isinstance(value, bool | str) for value in values)
        texts = {"numbers"} if is_number else {str(value) for value in values}
        yield f"{file_name} {column.name}", texts


def _flatten(data: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _flatten(value, f"{path} {'*' if _HASH_PATTERN.fullmatch(key) else key}")
    elif isinstance(data, list):
        has_pairs = bool(data) and all(isinstance(item, list) and len(item) == 2 for item in data)
        for item in data:
            yield from _flatten(item[1], f"{path} {item[0]}") if has_pairs else _flatten(item, path)
    else:
        yield path, str(data)


@dataclass(frozen=True)
class CopyResult:
    """The path of a copied report or import, whether it existed before, and who signed a report."""

    path: Path
    existed_before: bool
    signer: str = ""


def list_revisions(paths: Iterable[Path]) -> list[Path]:
    """The revisions and imports at or below the paths, older first; UserError without any."""
    revisions: set[Path] = set()
    for path in paths:
        if not (matches := store.revisions_and_imports(path)):
            raise UserError("neither a published report nor a folder of some", path)
        revisions |= matches
    return sorted(
        revisions,
        key=lambda path: (str(path.parent), store.revision_number(path.name) or 0, path.name),
    )


def copy_to_public(source: Path, public: Path) -> CopyResult:
    """Copy a revision or an import into the tree `public`.

    A report is rebuilt first.  UserError, without any change, if the rebuilt report differs, if
    the source is damaged, has a forged signature or comes from a run with uncommitted changes, or
    if the copy would overwrite another.  Several processes may copy at the same time.
    """
    copy = _copy_import if store.is_import_folder(source) else _copy_report
    return copy(source, public)


def copy_refusal(source: Path, public: Path) -> str:
    """The text of the UserError that `copy_to_public` raises before it rebuilds; "" if none."""
    try:
        if store.is_import_folder(source):
            imported_nights.require_intact_import(source)
        else:
            bundle_manifest, _, _ = _require_publishable(source)
            reader.require_decodable_bundle(store.bundle_folder(source))
            site = publish.site_folder(bundle_manifest, public)
            publish.require_unpublished(site, bundle_manifest)
    except UserError as error:
        return str(error)
    return ""


def _require_publishable(source: Path) -> tuple[Manifest, Mapping[str, Any], str]:
    """Manifest, facts, and who signed a revision; UserError if it must not be published."""
    facts_file = store.file_path(source, store.FACTS_FILE)
    facts = files.read_json(facts_file)
    if not isinstance(facts, dict) or not isinstance(facts.get("files"), dict):
        reason = "lacks digests of its files: publish it again with `roundtrip report BUNDLE`"
        raise UserError(reason, facts_file)
    bundle_manifest = manifest.verify(store.bundle_folder(source))
    changed_paths = publish.damaged_paths(source, facts)
    if bundle_manifest.digest != facts.get("digest"):
        changed_paths = [store.bundle_file_path(manifest.MANIFEST_FILE), *changed_paths]
    if changed_paths:
        reason = f"{publish.describe_paths(changed_paths)} is not as it was published"
        raise UserError(reason, source)
    git = bundle_manifest.data["git"]
    if git.get("dirty"):
        reason = f"measured with uncommitted changes, so nobody could repeat it: {_COMMIT_HINT}"
        raise UserError(reason, source)
    if not git.get("commit") or git.get("dirty") is None:
        reason = "does not say of which commit of Roundtrip it is: run the campaign in a git clone"
        raise UserError(reason, source)
    signer = signature.check_signature(store.bundle_folder(source), bundle_manifest)
    return bundle_manifest, facts, signer.sentence


def _copy_report(source: Path, public: Path) -> CopyResult:
    bundle_manifest, facts, signer = _require_publishable(source)
    site = publish.site_folder(bundle_manifest, public)
    with store.hold_folder(site):
        night = publish.night_folder(site, bundle_manifest, is_correction=False)
        names = {path.name for path in store.revisions(night)}
        predecessor = facts.get("supersedes")
        if predecessor is not None and str(predecessor) not in names:
            reason = f"it supersedes {predecessor}, which is not published: publish both"
            raise UserError(reason, source)
        if source.name not in names:
            publish.require_unpublished(site, bundle_manifest)
            reader.require_decodable_bundle(store.bundle_folder(source))
            if changed_paths := publish.verify_revision(source):
                reason = "differs when rebuilt: edited, or by another version of Roundtrip"
                remedy = "`roundtrip report` with --supersedes makes it anew"
                paths = publish.describe_paths(changed_paths)
                raise UserError(f"{paths} {reason}; {remedy}", source)
        digests = publish.add_facts_digest(facts["files"], facts)
        return CopyResult(*store.add_copy(source, night, digests), signer)


def _copy_import(source: Path, public: Path) -> CopyResult:
    record = imported_nights.require_intact_import(source)
    campaign, site_name = record.get("campaign"), record.get("site")
    for name in (campaign, site_name):
        if not isinstance(name, str) or not is_name(name):
            file = store.file_path(source, store.IMPORT_SOURCE_FILE)
            raise UserError("no name of a campaign and a site", file)
    site = store.site_folder(public, str(campaign), str(site_name))
    with store.hold_folder(site):
        digests = {
            name: files.sha256(files.read_bytes(store.file_path(source, name)))
            for name in imported_nights.IMPORT_FILES
        }
        return CopyResult(*store.add_copy(source, store.imports_folder(site), digests))
