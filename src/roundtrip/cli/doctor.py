"""``roundtrip doctor``: what will spoil measurements on this machine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from roundtrip import paths
from roundtrip.cli import app
from roundtrip.collect import analysis
from roundtrip.host import facts
from roundtrip.host.doctor import Finding, examine, possible
from roundtrip.toolchains.plan import Store, states
from roundtrip.toolchains.spec import catalogue

_STYLES = {"ok": "green", "warn": "yellow", "impossible": "bold red"}


@app.command()
def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="Without the A/A test of ten seconds.")
    ] = False,
) -> None:
    """Look for what spoils measurements here, and for the smallest difference that can be seen now.

    Exit status: 0 measuring is possible; 1 it is not.
    """
    wanted = facts.campaign_packages()
    versions = facts.installed_packages(wanted)
    missing = None if versions is None else [name for name in wanted if name not in versions]
    built = states(catalogue().toolchains.values(), Store(paths.toolchains()))
    host = facts.read_host()
    findings = examine(host, missing, built)
    if not quick and possible(findings):
        findings += _aa_test(host.autogroup)
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        text = Text(finding.detail)
        if finding.advice:
            text.append(f"\n-> {finding.advice}", style="dim")
        table.add_row(Text(finding.level, style=_STYLES[finding.level]), finding.topic, text)
    Console(markup=False).print(table)
    if not possible(findings):
        raise typer.Exit(1)


def _aa_test(autogroup: bool | None) -> list[Finding]:
    from roundtrip.host import interference

    levels = analysis.default().statistics
    return interference.findings(interference.measure(), levels, autogroup)
