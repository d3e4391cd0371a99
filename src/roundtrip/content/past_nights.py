"""Puts the nights before a bundle into it, as people annotated them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from roundtrip.content import nights
from roundtrip.history import ledger
from roundtrip.history.annotations import Annotation
from roundtrip.measure.manifest import Manifest


def attach_past_nights(
    bundle: Path,
    bundle_manifest: Manifest,
    reports: Path,
    annotations: Sequence[Annotation],
    tell: Callable[[str], None] = lambda _: None,
) -> Manifest:
    """Attach the earlier nights of the campaign on the site; return the bundle's new manifest.

    `tell` gets a line for each night that was left out.
    """
    data = bundle_manifest.data
    # The bundle has the name that holds in its night.
    notes = [each for each in annotations if not each.renames(data["started"])]
    past = ledger.read_ledger(reports, data["campaign"], data["site"], notes)
    for warning in (*past.warnings, *past.remarks):
        tell(warning)
    notes = nights.with_carried_acceptances(past.nights, past.provenance, notes)
    return ledger.attach_history(bundle, bundle_manifest, past, notes)
