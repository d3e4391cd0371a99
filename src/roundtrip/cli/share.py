"""``roundtrip collect``, ``report``, ``publish``, ``import``, ``schema``: results for others."""

from __future__ import annotations

import sys
import zoneinfo
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from roundtrip import files, paths, units
from roundtrip import output as outputs
from roundtrip.cli import command, common
from roundtrip.cli.common import print_warning
from roundtrip.errors import UserError, report_write_errors
from roundtrip.measure import manifest, reader, signature, store
from roundtrip.model import NAME_RULE, is_name

if TYPE_CHECKING:
    from roundtrip.history.annotations import Annotation


#: Maximum number of rejected rows of an import that are printed; set-aside.txt has all.
_MAX_PRINTED_REJECTS = 20
_COMMANDS_WITH_JSON = ", ".join(outputs.MODEL_BY_COMMAND)


@command(
    "report runs/smoke/local/20261127T010000Z",
    "report reports/smoke/local/2026-11-27/r1 --verify",
)
def report(
    source: Path = Argument(help="A bundle, a run tree, or a published report."),
    output: Path | None = Option(None, help="Folder of published reports; reports/ by default."),
    verify: bool = Option(False, "--verify", help="Rebuild and compare byte for byte."),
    summary: bool = Option(
        False, "--summary", help="Print ten lines of Markdown for a pull request."
    ),
    supersedes: str | None = Option(None, help="The revision this corrects: r1."),
    reason: str | None = Option(None, help="Reason for the correction."),
) -> None:
    """Publish the report of a campaign; never overwrite one.

    The last line names the page.  The same bundle is published once.  Exit status: 0 good;
    1 --verify found a difference; 2 bad input.
    """
    supersedes, reason = (text.strip() if text else None for text in (supersedes, reason))
    if bool(supersedes) != bool(reason):
        raise UserError("--supersedes and --reason go together")
    if reason and not reason.isprintable():
        raise UserError("--reason: right is one line without control characters")
    if verify and store.file_path(source, store.FACTS_FILE).is_file():
        if supersedes:
            raise UserError("--verify of a published report corrects none: leave --supersedes out")
        reader.require_decodable_bundle(store.bundle_folder(source))
        revision = source
    else:
        reports = output or paths.reports()
        revision = _publish_source(source, reports, supersedes, reason)
        write_pages(reports)
    if verify:
        from roundtrip.report import publish  # as below

        differences = publish.verify_revision(revision)
        for name in differences:
            print(f"{store.file_path(revision, name)}: differs when rebuilt", file=sys.stderr)
        if differences:
            raise typer.Exit(1)
        bundle = store.bundle_folder(revision)
        signature_check = signature.check_signature(bundle, manifest.verify(bundle))
        typer.echo(f"verified: rebuilt byte for byte; {signature_check.sentence}")
    _print_warnings(revision)
    if summary:
        typer.echo(files.read_text(store.file_path(revision, store.SUMMARY_FILE)))
    typer.echo(f"report: {store.file_path(revision, store.PAGE_FILE)}")


def publish_run(run_dir: Path) -> Path:
    """Collect and publish a run tree; return the revision, whose page the last printed line names.
    UserError if no launch of the tree completed."""
    revision = _publish_source(run_dir, paths.reports(), None, None)
    write_pages(paths.reports())
    _print_warnings(revision)
    typer.echo(f"report: {store.file_path(revision, store.PAGE_FILE)}")
    return revision


def write_pages(reports: Path) -> bool:
    """Write the index and the history pages of `reports`; return whether that succeeded.  If not, a
    warning is enough: the reports are published, and pages can be written again."""
    from roundtrip.report.pages import write  # as below

    try:
        write.write_pages(reports)
    except Exception as error:
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        print_warning(f"index and history pages: {kind}{error}")
        return False
    return True


def _print_warnings(revision: Path) -> None:
    from roundtrip.report import publish  # as below

    for warning in publish.read_warnings(revision):
        print_warning(warning)


def _publish_source(
    source: Path, reports: Path, supersedes: str | None, reason: str | None
) -> Path:
    from roundtrip.measure import bundle  # these take a second, which other commands need not spend
    from roundtrip.report import publish
    from roundtrip.report.build import Correction

    if bundle_path := store.find_bundle(source):
        reader.require_decodable_bundle(bundle_path)
    elif (source / "state.json").is_file():
        bundle_path = bundle.build_bundle(source, tell=print_warning)
    else:
        raise UserError("neither a bundle nor the tree of a campaign run", source)
    correction = Correction(supersedes, reason) if supersedes and reason else None
    return publish.publish(bundle_path, reports, correction, print_warning, _load_annotations)


def _load_annotations(site: str) -> tuple[Annotation, ...]:
    """The annotations of the site; none, with a warning, if they cannot be read."""
    from roundtrip.history import annotations  # as above

    try:
        return annotations.load_site_annotations(site)
    except UserError as error:
        print_warning(f"{error}; the report is made without annotations")
        return ()


@command("collect runs/smoke/local/20261127T010000Z")
def collect(run_dir: Path = Argument(help="runs/<campaign>/<site>/<start>/")) -> None:
    """Collect the files of a campaign run in a bundle: samples, cases, environment, checksums.

    The last line names the bundle.  The same run always gives the same bundle.  Exit status: 0
    collected; 2 bad input, such as a folder without a run.
    """
    from roundtrip.measure import bundle  # takes a second to load

    if not (run_dir / "state.json").is_file():
        raise UserError(
            "no tree of a campaign run: right is runs/<campaign>/<site>/<start>/", run_dir
        )
    typer.echo(f"bundle: {bundle.build_bundle(run_dir, tell=print_warning)}")


@command(
    "publish reports/nightly --to /srv/www --preview",
    "publish reports/nightly --to /srv/www",
    name="publish",
)
def publish_reports(
    places: list[Path] = Argument(
        metavar="REPORT...", help="Published reports, or folders of them."
    ),
    to: Path = Option(help="The tree to copy to; it is made if missing."),
    preview: bool = Option(
        False, "--preview", help="Show each field that would be published; copy nothing."
    ),
) -> None:
    """Copy published reports into a tree for a static host, and write its index.

    Each report is rebuilt and its signature checked first.  A report that differs, or whose run
    had uncommitted changes, is refused.  Nothing is overwritten.  Exit status: 0 all are there; 1
    some were refused; 2 bad input.
    """
    from roundtrip.report import public  # takes a second, which other commands need not spend
    from roundtrip.report.pages.write import INDEX

    revisions, refusals = public.list_revisions(places), 0
    if preview:
        raise typer.Exit(int(_preview(revisions, to)))
    with report_write_errors(to):
        to.mkdir(parents=True, exist_ok=True)
    for source in revisions:
        try:
            copy = public.copy_to_public(source, to)
        except UserError as error:
            print(f"refused: {error}", file=sys.stderr)
            refusals += 1
            continue
        status = "already there" if copy.existed_before else "published"
        typer.echo(f"{status}: {copy.path}{f' ({copy.signer})' if copy.signer else ''}")
    if write_pages(to):
        typer.echo(f"index: {store.file_path(to, INDEX)}")
    raise typer.Exit(int(refusals > 0))


def _preview(revisions: Sequence[Path], to: Path) -> bool:
    """Print the fields of `revisions` that would be published; return whether one is refused."""
    from roundtrip.report import public

    is_refused = False
    for source in revisions:
        try:
            reason = public.copy_refusal(source, to)
            fields = [] if reason else public.disclosed_fields(source, to)
        except UserError as error:
            reason, fields = str(error), []
        if reason:
            print(f"would be refused: {reason}", file=sys.stderr)
            is_refused = True
            continue
        new_count = sum(field.is_new for field in fields)
        changed_count = sum(bool(field.new_values) and not field.is_new for field in fields)
        typer.echo(
            f"{source}: {len(fields)} fields, {new_count} new, {changed_count} with new values"
        )
        for field in sorted(fields, key=lambda field: (not field.is_new, not field.new_values)):
            typer.echo(f"  {field.terminal_line}")
    return is_refused


@command(
    "import perflogs --site local",
    "import output/results.db --site local",
    name="import",
)
def import_files(
    places: list[Path] = Argument(help="Performance logs, reports, databases, or folders of them."),
    site: str = common.SITE_OPTION,
    campaign: str = Option("imported", help="The campaign of the imported nights."),
    timezone: str = Option("UTC", help="Zone of times that name none, such as Europe/Berlin."),
    lower_is_better: list[str] | None = Option(
        None, help="A variable, or a name pattern, of which lower is better; repeatable."
    ),
    higher_is_better: list[str] | None = Option(
        None, help="A variable, or a name pattern, of which higher is better; repeatable."
    ),
) -> None:
    """Bring ReFrame's performance logs, JSON reports and results databases into the history.

    Damaged entries are set aside with file and line; the rest is imported.  Only new values are
    stored.  Exit status: 0 all imported; 1 some set aside; 2 bad input, or nothing usable.
    """
    from roundtrip.history.importer import ImportOptions  # takes a second to load
    from roundtrip.history.importer import import_files as bring_in
    from roundtrip.sites.site import Site

    first, *rest = map(str, places)
    if rest and first in common.complete_site("") and not places[0].exists():
        print_warning(f"`import {first} PLACES` is called `import PLACES --site {first}` now")
        site, places = first, places[1:]
    Site(site, paths.checkout())
    if not is_name(campaign):
        raise UserError(f"--campaign {campaign!r}: {NAME_RULE}")
    lower, higher = lower_is_better or [], higher_is_better or []
    try:
        zone = zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        legal = "right is a name such as Europe/Berlin"
        raise UserError(f"--timezone {timezone!r}: {legal}") from None
    options = ImportOptions(zone, lower, higher)
    result = bring_in(paths.reports(), campaign, site, places, options)
    if not result.values and len(result.messages) == 1:
        raise UserError(result.messages[0])
    for line in result.messages[:_MAX_PRINTED_REJECTS]:
        print(line, file=sys.stderr)
    if rest := result.messages[_MAX_PRINTED_REJECTS:]:
        print(f"and {len(rest)} more", file=sys.stderr)
    if not result.values:
        raise UserError(f"nothing usable in {units.plural(result.files, 'file')}")
    typer.echo(
        f"{units.plural(result.new_values, 'new value')}, "
        f"{result.values - result.new_values} imported before; {result.series} series from "
        f"{units.plural(result.files, 'file')}, {units.plural(result.empty_rows, 'row')} without "
        f"a value, {result.set_aside} set aside"
    )
    if result.folder:
        typer.echo(f"imported: {result.folder}")
    write_pages(paths.reports())
    raise typer.Exit(int(bool(result.messages)))


@command("schema history", name="schema")
def print_schema(
    command: str = Argument(metavar="COMMAND", help=f"One of {_COMMANDS_WITH_JSON}."),
) -> None:
    """Print the JSON Schema of a command's JSON output.

    Exit status: 0 printed; 2 bad input: the command prints no JSON.
    """
    if command not in outputs.MODEL_BY_COMMAND:
        raise UserError(f"no JSON of {command!r}: right is one of {_COMMANDS_WITH_JSON}")
    typer.echo(outputs.json_schema_text(outputs.MODEL_BY_COMMAND[command]))
