"""Where a run is published: ``<campaign>/<site>/<UTC date>/``, or ``<date>.2/`` for a second night.

Each run has a folder of its own, so that a second revision in it is always a correction.  In trees
of before, a second run of a date could be the next revision in the same folder; it stays there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.collect import manifest
from roundtrip.collect.manifest import Manifest
from roundtrip.errors import UserError
from roundtrip.history import published

_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T")


def site(checked: Manifest, reports: Path) -> Path:
    """The folder of a bundle's campaign on its site."""
    return reports / str(checked.data["campaign"]) / str(checked.data["site"])


def night(folder: Path, checked: Manifest, corrects: bool) -> Path:
    """Of the folder `folder` of a campaign on a site: where the run of a bundle is published.

    A bundle that `corrects` another run, and of which there is no revision, belongs to its date.
    UserError for a bundle whose start is no time.
    """
    started = str(checked.data["started"])
    date = _DATE.match(started)
    if not date:
        raise UserError(f"manifest: started {started!r} is not a UTC time")
    there = [one for one in published.nights(folder) if published.date(one) == date[1]]
    for one in there:
        if any(_is_of(path, checked) for path in published.revisions(one)):
            return one
    taken = {one.name for one in there if published.revisions(one)}
    if corrects or date[1] not in taken:
        return folder / date[1]
    number = next(n for n in range(2, len(taken) + 3) if f"{date[1]}.{n}" not in taken)
    return folder / f"{date[1]}.{number}"


def require(revision: Path, checked: Manifest) -> None:
    """UserError if the folder of a night, with its campaign and site, is not that of its bundle.

    A revision that lies elsewhere may be of anything.
    """
    night = revision.absolute().parent
    if not published.is_night(night.name):
        return
    there = (night.parent.parent.name, night.parent.name, published.date(night))
    date = str(checked.data["started"])[:10]
    for given, own in zip(
        (checked.data["campaign"], checked.data["site"], date), there, strict=True
    ):
        if given != own:
            raise UserError(
                f"its bundle is of {given}, but it lies in the folder of {own}", revision
            )


def require_once(folder: Path, checked: Manifest) -> None:
    """UserError if the samples of a bundle were published as another night of the site `folder`."""
    for night in published.nights(folder):
        for path in published.revisions(night):
            held = _listing(path)
            is_same = manifest.samples(held) == checked.samples != ""
            if is_same and held.get("started") != checked.data["started"]:
                why = f"its samples are those of {path}: one run is one night, whatever its date"
                raise UserError(why)


def _is_of(revision: Path, checked: Manifest) -> bool:
    """Whether a revision is of the same run, also one that is damaged in part."""
    if published.measurement(published.read_facts(revision)) == checked.measurement:
        return True
    return bool(_listing(revision).get("started") == checked.data["started"])


def _listing(revision: Path) -> dict[str, Any]:
    """The manifest of a revision's bundle; empty if it cannot be read."""
    try:
        listing = files.read_json(revision / published.BUNDLE / manifest.FILE_NAME)
    except UserError:
        return {}
    return listing if isinstance(listing, dict) else {}
