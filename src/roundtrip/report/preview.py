"""What a report or an import would tell a public tree, field by field, and what of it is new there.

Fields are columns of tables and leaves of JSON and TOML.  Pages and figures are drawn from these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.collect import manifest
from roundtrip.errors import UserError, printable
from roundtrip.history import published

#: Names that only number things are one field: a hash of Spack, a number in a list.
_NUMBERED = re.compile(r"[0-9a-z]{32}")
_SHOWN, _LONGEST = 4, 70


@dataclass(frozen=True)
class Field:
    """One field: `values` are all that it has, sorted, `fresh` those that it did not have before.

    `is_new`: it is not in what was published before.
    """

    name: str
    values: tuple[str, ...]
    fresh: tuple[str, ...]
    is_new: bool

    @property
    def line(self) -> str:
        """For a terminal: whether it is new, its name, some of its values, the new ones first."""
        kind = "new" if self.is_new else "changed" if self.fresh else ""
        ordered = [*self.fresh, *(one for one in self.values if one not in set(self.fresh))]
        shown = [
            one if len(one) <= _LONGEST else f"{one[:_LONGEST]}..." for one in ordered[:_SHOWN]
        ]
        more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
        return printable(f"{kind:8} {self.name} = {' | '.join(shown)}{more}")


def fields(folder: Path, public: Path) -> list[Field]:
    """All fields of a revision or an import, against the newest of its place in `public`.

    UserError for a file that cannot be read.
    """
    now = dict(_values(folder))
    last = _last(folder, public)
    before = dict(_values(last)) if last else {}
    return [
        Field(
            name,
            tuple(sorted(values)),
            tuple(sorted(values - before.get(name, set()))),
            is_new=name not in before,
        )
        for name, values in sorted(now.items())
    ]


def _last(folder: Path, public: Path) -> Path | None:
    """The newest revision of the same campaign and site in `public`."""
    try:
        facts = files.read_json(folder / published.BUNDLE / manifest.FILE_NAME)
        site = public / str(facts["campaign"]) / str(facts["site"])
    except (UserError, KeyError, TypeError):
        return None
    every = [path for night in published.nights(site) for path in published.revisions(night)]
    return every[-1] if every else None


def _values(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """By field, ``file name``: its distinct values; of numbers in tables that there are some."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix().removeprefix(f"{published.BUNDLE}/")
        if file.suffix == ".parquet":
            yield from _columns(name, file)
        elif file.suffix in (".json", ".lock", ".toml"):
            yield from _leaves(name, file)
        elif file.suffix == ".txt":
            yield name, set(files.read_text(file).splitlines())


def _columns(name: str, file: Path) -> Iterator[tuple[str, set[str]]]:
    try:
        table = pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"not a table: {error}", file) from None
    for column in table:
        values = column.drop_nulls().unique().to_list()
        if isinstance(column.dtype, pl.List):
            values = [item for one in values for item in one]
        is_number = bool(values) and not any(isinstance(one, bool | str) for one in values)
        yield f"{name} {column.name}", {"numbers"} if is_number else {str(one) for one in values}


def _leaves(name: str, file: Path) -> Iterator[tuple[str, set[str]]]:
    text = files.read_text(file)
    data = files.parse_toml(text, file) if file.suffix == ".toml" else files.parse_json(text, file)
    if file.name in (manifest.FILE_NAME, published.FACTS) and isinstance(data, dict):
        data = {key: value for key, value in data.items() if key != "files"}
    found: dict[str, set[str]] = {}
    for path, value in _flat(data, name):
        found.setdefault(path, set()).add(value)
    yield from found.items()


def _flat(data: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _flat(value, f"{path} {'*' if _NUMBERED.fullmatch(key) else key}")
    elif isinstance(data, list):
        pairs = bool(data) and all(isinstance(one, list) and len(one) == 2 for one in data)
        for item in data:
            yield from _flat(item[1], f"{path} {item[0]}") if pairs else _flat(item, path)
    else:
        yield path, str(data)
