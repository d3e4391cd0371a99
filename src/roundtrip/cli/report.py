"""``roundtrip report``: a bundle becomes a published report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roundtrip import paths
from roundtrip.cli import app
from roundtrip.collect import manifest, reader, signature
from roundtrip.errors import UserError

if TYPE_CHECKING:
    from roundtrip.history.annotations import Annotation

_PAGE, _FACTS = "report.html", "report.json"


@app.command()
def report(
    source: Annotated[Path, typer.Argument(help="A bundle, a run tree, or a published report.")],
    output: Annotated[
        Path | None, typer.Option(help="Where reports are published; reports/ by default.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Rebuild and compare byte for byte.")
    ] = False,
    supersedes: Annotated[str | None, typer.Option(help="The revision this corrects: r1.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why it had to be corrected.")] = None,
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
    if verify and (source / _FACTS).is_file():
        if supersedes:
            raise UserError("--verify of a published report corrects none: leave --supersedes out")
        reader.require(source / "bundle")
        revision = source
    else:
        reports = output or paths.reports()
        revision = _publish(source, reports, supersedes, reason)
        write_pages(reports)
    if verify:
        _verify(revision)
    _warn(revision)
    typer.echo(f"report: {revision / _PAGE}")


def publish(run_dir: Path) -> Path:
    """Collect and publish a run tree; return the page, which the last printed line names too.

    UserError if no launch of the tree completed.
    """
    revision = _publish(run_dir, paths.reports(), None, None)
    write_pages(paths.reports())
    _warn(revision)
    page = revision / _PAGE
    typer.echo(f"report: {page}")
    return page


def write_pages(reports: Path) -> bool:
    """Write the index and the history pages of `reports`; whatever fails is only a warning.

    They are derived from the reports, which are published by then, and can be written again.
    Whether they were written.
    """
    from roundtrip.report.pages import write  # as below

    try:
        write.write(reports)
    except Exception as error:
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        print_warning(f"index and history pages: {kind}{error}")
        return False
    return True


def _warn(revision: Path) -> None:
    from roundtrip.report import publish  # as below

    for warning in publish.warnings(revision):
        print_warning(warning)


def print_warning(text: str) -> None:
    """One line on standard error."""
    print(f"warning: {text}", file=sys.stderr)


def _publish(source: Path, reports: Path, supersedes: str | None, reason: str | None) -> Path:
    from roundtrip.report import publish  # takes a second, which other commands need not spend
    from roundtrip.report.build import Correction

    correction = Correction(supersedes, reason) if supersedes and reason else None
    return publish.publish(_bundle(source), reports, correction, print_warning, _annotations)


def _annotations(site: str) -> tuple[Annotation, ...]:
    """Those of the site; none, and a warning, if they cannot be read: a night has its report."""
    from roundtrip.history import annotations  # as above

    try:
        return annotations.load_site(site)
    except UserError as error:
        print_warning(f"{error}; the report is made without annotations")
        return ()


def _bundle(source: Path) -> Path:
    for bundle in (source, source / "bundle"):
        if (bundle / manifest.FILE_NAME).is_file():
            reader.require(bundle)
            return bundle
    if (source / "state.json").is_file():
        from roundtrip.collect.bundle import build  # as above

        return build(source, tell=print_warning)
    raise UserError("neither a bundle nor the tree of a campaign run", source)


def _verify(revision: Path) -> None:
    from roundtrip.report import publish  # as above

    different = publish.verify(revision)
    for name in different:
        print(f"{revision / name}: differs when rebuilt", file=sys.stderr)
    if different:
        raise typer.Exit(1)
    held = revision / "bundle"
    signed = signature.check_signature(held, manifest.verify(held))
    typer.echo(f"verified: rebuilt byte for byte; {signed.sentence}")
