"""Paths of the checkout, of run trees, published reports and cached toolchains.

The environment variables ``ROUNDTRIP_RUNS``, ``ROUNDTRIP_REPORTS`` and ``ROUNDTRIP_TOOLCHAINS``
override the defaults, so that a cluster can put large trees on its scratch file system.  Their
values become absolute and free of links, because commands in other folders get them.
"""

from __future__ import annotations

import os
from pathlib import Path

from roundtrip.errors import UserError


def checkout() -> Path:
    """Root of the checkout, or of a campaign folder: it holds ``campaigns/`` and ``checks/``.

    It is searched upwards from the current folder, then from this file; UserError if none is found.
    """
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if (folder / "campaigns").is_dir() and (folder / "checks").is_dir():
                return folder
    raise UserError(
        "not inside a campaign folder: run from a clone, or lay one out: roundtrip init DIR"
    )


def runs() -> Path:
    """Folder of the raw results, with one tree for each campaign run."""
    return _folder_from_variable("ROUNDTRIP_RUNS") or checkout() / "runs"


def reports() -> Path:
    """Folder of the reports: ``<campaign>/<site>/<UTC date>/r<N>/``, never overwritten."""
    return _folder_from_variable("ROUNDTRIP_REPORTS") or checkout() / "reports"


def state() -> Path:
    """Folder of the state that all checkouts of a user share: ``$XDG_STATE_HOME/roundtrip``."""
    try:
        states = _folder_from_variable("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:  # a user id that the system does not know
        return runs() / ".state"
    return states / "roundtrip"


def toolchains() -> Path:
    """Folder of the MPI and Boost prefixes of site `local`, which all checkouts of a user share;
    UserError if the user has no home folder and ``ROUNDTRIP_TOOLCHAINS`` is not set."""
    if folder := _folder_from_variable("ROUNDTRIP_TOOLCHAINS"):
        return folder
    try:
        caches = _folder_from_variable("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user id that the system does not know
        raise UserError("this user has no home folder: set HOME or ROUNDTRIP_TOOLCHAINS") from None
    return caches / "roundtrip" / "toolchains"


def _folder_from_variable(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).resolve() if value else None
