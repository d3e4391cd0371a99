"""``roundtrip calibrate``: whether the thresholds of detection fit the noise of a site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from roundtrip import paths
from roundtrip.cli import app, current
from roundtrip.errors import UserError, printable, require_place, writing

_SEED = 1


@app.command()
def calibrate(
    site: current.SITE,
    campaign: current.CAMPAIGN = None,
    series: Annotated[
        int, typer.Option(min=500, max=100_000, help="Quiet histories to simulate.")
    ] = 2000,
    nights: Annotated[int, typer.Option(min=40, max=3650, help="Nights of each.")] = 365,
    write: Annotated[
        Path | None, typer.Option(help="Write these thresholds as a new analysis.toml.")
    ] = None,
    reports: Annotated[
        Path | None, typer.Option(help="Where reports are published; reports/ by default.")
    ] = None,
) -> None:
    """Say how noisy the nights of a site are, how often such noise alone would raise an alarm, and
    which evidence keeps that below one in 500 series.

    Runs of a site are judged by its analysis.toml in site-configs/<site>/.  Exit status: 0 the
    present thresholds fit; 1 they do not; 2 bad input.
    """
    import numpy as np  # these take a second, which other commands need not spend

    from roundtrip.collect import analysis
    from roundtrip.history import annotations, detection, ledger

    current.require_names(site, campaign)
    if write and write.exists():
        raise UserError("there is a file already: nothing is overwritten", write)
    if write:
        require_place(write)
    folder = reports or paths.reports()
    names = [campaign] if campaign else sorted(one.parent.name for one in folder.glob(f"*/{site}"))
    marks, thresholds = annotations.load_site(site), analysis.for_site(site)
    settings = thresholds.history
    found = []
    for name in names:
        known = ledger.read_ledger(folder, name, site, marks)
        for warning in known.warnings:
            print(f"warning: {printable(warning)}", file=sys.stderr)
        found += detection.measure_noise(known.nights, settings)
    result = detection.calibrate(found, nights, series, _SEED, settings)
    sd = np.array([one.sd for one in found])
    phi = np.array([one.phi for one in found])
    typer.echo(
        f"{len(found)} series: a night scatters by {np.median(sd):.2%} (median; "
        f"{sd.min():.2%} to {sd.max():.2%}) and resembles the last one by {np.median(phi):.2f} "
        f"({phi.min():.2f} to {phi.max():.2f}); {sum(one.incidents for one in found)} incidents; "
        f"{max(one.node_sets for one in found)} node sets at most"
    )
    typer.echo(f"change points of these nights: {sum(one.steps for one in found)}")
    typer.echo(
        f"{result.false} of {result.simulated} simulated quiet histories of {result.nights} nights "
        f"have a change point; with the evidence below, {result.kept}"
    )
    typer.echo(f"evidence = {result.evidence:.1f}")
    if write:
        with writing(write.parent):
            write.write_text(
                detection.with_evidence(result.evidence, thresholds.text), encoding="utf-8"
            )
    raise typer.Exit(int(result.evidence != settings.evidence))
