"""``roundtrip compare``: two measured sides, from reports, bundles, run trees or nights."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roundtrip import paths
from roundtrip.cli import common
from roundtrip.errors import UserError, require_writable, writing

if TYPE_CHECKING:
    from roundtrip.compare.model import Comparison
    from roundtrip.compare.side import Side, Sources

_PERCENTAGE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*%")


class Format(StrEnum):
    """The format of a comparison."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


FORMAT = Annotated[Format, typer.Option("--format", help="How the comparison is written.")]
OUTPUT = Annotated[Path | None, typer.Option(help="File to write it to, not the terminal.")]
FAIL_ON = Annotated[
    str | None,
    typer.Option(metavar="3%", help="Least regression that fails; minimum_effect by default."),
]
ALL = Annotated[
    bool,
    typer.Option(
        "--all", help="Show all facts that differ, not only three, and those that do not."
    ),
]


@common.command(
    "compare local/smoke/2026-11-24 local/smoke/2026-11-25",
    "compare local/smoke/2026-11-25 --by toolchain",
)
def compare(
    base: Annotated[str, typer.Argument(help="What is compared with: SOURCE[:key=value,...].")],
    new: Annotated[str | None, typer.Argument(help="What is compared; may be BASE's own.")] = None,
    toolchains: Annotated[
        tuple[str, str] | None, typer.Option(help="Two toolchains of BASE.", metavar="OLD NEW")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Key of which BASE has two values: toolchain, mpi, boost, spack, ..."),
    ] = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
    fail_on: FAIL_ON = None,
    everything: ALL = False,
) -> None:
    """Compare two reports, bundles, run trees or nights, or two sides of one of them.

    A source is a folder or SITE/CAMPAIGN/DATE of the published reports.  Keys: toolchain, mpi,
    boost, spack, site, partition, check, study.  Exit status: 0 nothing regressed; 1 something did,
    or NEW lacks a case of the same run; 2 bad input, or nothing could be decided.
    """
    threshold = parse_percentage(fail_on)
    if output:
        require_writable(output)
    if new is not None and (toolchains or by):
        raise UserError("--toolchains and --by choose two sides of one source: leave NEW out")
    from roundtrip.compare import comparison, side  # takes a second to load

    with side.open_sources(paths.reports()) as sources:
        if new is not None:
            sides = (sources.side(base), sources.side(new))
        elif toolchains:
            one, other = ({"toolchain": name} for name in toolchains)
            sides = (sources.side(base, one), sources.side(base, other))
        elif by:
            sides = _sides_by_key(sources, base, by)
        else:
            raise UserError(
                "one source: name a second one, or use --toolchains OLD NEW or --by KEY"
            )
        result = comparison.compare(*sides, fail_on=threshold)
        write_comparison(result, form, output, everything)
    raise typer.Exit(result.exit_status)


def _sides_by_key(sources: Sources, source: str, key: str) -> tuple[Side, Side]:
    """The two sides of a source that has two values of `key`."""
    from roundtrip.compare.side import KEYS

    if key not in KEYS:
        raise UserError(f"--by {key}: legal are {', '.join(KEYS)}")
    values = sorted({str(getattr(case, key)) for case in sources.side(source).cases})
    if len(values) != 2:
        raise UserError(
            f"{source} has {len(values)} values of {key}, not two ({'; '.join(values)}): "
            f"name both sides, {source}:{key}=..."
        )
    one, other = ({key: value} for value in values)
    return sources.side(source, one), sources.side(source, other)


def parse_percentage(text: str | None, option: str = "--fail-on") -> float | None:
    """Parse ``3%`` into a fraction; None for None.  UserError unless between 0 and 100 %."""
    if text is None:
        return None
    match = _PERCENTAGE.fullmatch(text.strip())
    value = float(match["number"]) / 100 if match else 0.0
    if not 0 < value < 1:
        raise UserError(f"{option} {text}: a percentage above 0 and below 100, such as 3%")
    return value


def write_comparison(
    comparison: Comparison, form: Format, output: Path | None, everything: bool = False
) -> None:
    """Print the comparison, or write it to `output`."""
    from rich.console import Console

    from roundtrip.compare import forms

    if form is Format.TABLE:
        text = forms.as_text(comparison, everything, None if output else Console())
    else:
        render = {
            Format.JSON: forms.as_json,
            Format.MARKDOWN: forms.as_markdown,
            Format.JUNIT: forms.as_junit,
        }[form]
        text = render(comparison, everything)
    if output is None:
        typer.echo(text, nl=False)
    else:
        with writing(output):
            output.write_text(text, encoding="utf-8")
