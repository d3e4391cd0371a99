"""The studies: a room each, and what they share.  Nothing else knows a study by its name."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundtrip.studies.study import Study


@cache
def found() -> tuple[Study, ...]:
    """All studies, one for each package beside this file that sets `STUDY`, in their order."""
    rooms = (
        importlib.import_module(f"{__name__}.{room.name}")
        for room in pkgutil.iter_modules(__path__)
        if room.ispkg
    )
    studies: list[Study] = [room.STUDY for room in rooms if hasattr(room, "STUDY")]
    return tuple(sorted(studies, key=lambda study: (study.order, study.name)))


def named(name: str) -> Study:
    """The study of that name, as in case.json; KeyError if there is none."""
    return {study.name: study for study in found()}[name]
