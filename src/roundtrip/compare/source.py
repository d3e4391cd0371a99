"""Finds what a user names: ``SOURCE[:key=value[,key=value...]]``, with the keys of `side.KEYS`.

A source is a published report or the folder of its date, a bundle, a run tree, or a night:
``SITE/CAMPAIGN/DATE`` of the published reports, whose newest revision is taken, or
``SITE/CAMPAIGN/DATE/rN``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from roundtrip.collect import bundle, manifest, reader
from roundtrip.compare.side import KEYS, Side
from roundtrip.errors import UserError, writing
from roundtrip.history import published
from roundtrip.report import data
from roundtrip.report.data import Data

_SELECTED = re.compile(r"(?P<source>.+?):(?P<chosen>[a-z]+=[^:]*)")
_NIGHT = re.compile(r"(?P<site>[^/]+)/(?P<campaign>[^/]+)/(?P<rest>\d{4}-\d\d-\d\d[^/]*(/r\d+)?)/?")


@dataclass(frozen=True)
class Sources:
    """Opens sources, each once; `reports` is where reports are published, `scratch` is a folder
    for the bundles of run trees."""

    reports: Path
    scratch: Path
    _opened: dict[Path, Data] = field(default_factory=dict)

    def side(self, spec: str, more: Mapping[str, str] | None = None) -> Side:
        """The side that `spec` names, chosen by `more` besides.

        UserError for a source that is not there or no source, and for an unknown key.
        """
        source, chosen = parse(spec)
        shown = ",".join(f"{key}={value}" for key, value in (more or {}).items())
        name = f"{spec}{',' if chosen else ':'}{shown}" if shown else spec
        return Side(name, self._data(source), {**chosen, **(more or {})})

    def _data(self, source: str) -> Data:
        folder = self._folder(source).resolve()
        if folder not in self._opened:
            if (folder / "state.json").is_file():
                with writing(self.scratch):
                    built = bundle.build(folder, self.scratch / f"{len(self._opened)}")
                self._opened[folder] = data.read(built)
            else:
                reader.require(folder)
                self._opened[folder] = data.read(folder)
        return self._opened[folder]

    def _folder(self, source: str) -> Path:
        """The folder of the bundle or of the run tree that `source` names."""
        path = Path(source)
        night = _NIGHT.fullmatch(source)
        if night and not path.exists():
            path = self.reports / night["campaign"] / night["site"] / night["rest"]
        for folder in (path, path / published.BUNDLE, *_newest(path)):
            if (folder / manifest.FILE_NAME).is_file() or (folder / "state.json").is_file():
                return folder
        if path.exists():
            told = "neither a report, a bundle nor a run tree"
        else:
            told = "there is no such report, bundle or run tree; a night is SITE/CAMPAIGN/DATE"
        raise UserError(told, path)


def _newest(date: Path) -> list[Path]:
    """The bundle of the newest revision of a date's folder, if it has revisions."""
    return [path / published.BUNDLE for path in published.revisions(date)[-1:]]


def parse(spec: str) -> tuple[str, dict[str, str]]:
    """The source of `spec`, and what its selector chooses; UserError for a key that is unknown or
    stands twice."""
    found = None if Path(spec).exists() else _SELECTED.fullmatch(spec)
    if not found:
        return spec, {}
    chosen: dict[str, str] = {}
    for item in found["chosen"].split(","):
        key, equals, value = item.partition("=")
        if key not in KEYS or not equals or not value:
            legal = ", ".join(f"{name}=..." for name in KEYS)
            raise UserError(f"'{spec}': '{item}' selects nothing; legal are {legal}")
        if key in chosen:
            raise UserError(f"'{spec}': {key} stands twice; right is one value for each key")
        chosen[key] = value
    return found["source"], chosen


@contextmanager
def opened(reports: Path) -> Iterator[Sources]:
    """Sources whose scratch folder lasts as long as the block."""
    with tempfile.TemporaryDirectory(prefix="roundtrip-compare-") as folder:
        yield Sources(reports, Path(folder))
