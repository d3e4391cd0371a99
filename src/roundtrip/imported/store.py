"""Keeps what is imported as ``<campaign>/<site>/imported/<digest>/``, and reads it back.

Each import has a folder of its own: values.parquet, source.json (the files, with their sha256) and
set-aside.txt.  A folder is never overwritten.  Nights are made when they are read, of all imports
together, so that a log that has grown, or a report beside a log, counts no value twice.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip import partial as partials
from roundtrip.collect import reader
from roundtrip.collect.tables import disk, require
from roundtrip.collect.tables import rows as schema
from roundtrip.errors import UserError, writing
from roundtrip.imported import nights
from roundtrip.imported.schema import VALUES, Value

FOLDER = "imported"
SOURCE, _VALUES, _ASIDE = "source.json", "values.parquet", "set-aside.txt"
FILES = (SOURCE, _VALUES, _ASIDE)


def write(folder: Path, values: pl.DataFrame, source: dict[str, Any], aside: list[str]) -> Path:
    """Write an import into `folder`; return its own folder, which may have been there.

    Two processes with the same import leave one folder.  UserError if the system refuses.
    """
    identity = json.dumps([source["files"], source["options"]], sort_keys=True)
    target = folder / hashlib.sha256(identity.encode()).hexdigest()[:16]
    if target.is_dir():
        return target
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        partial = partials.make(folder)
        try:
            partial.chmod(0o755)
            disk.write_frame(values.select(*VALUES), partial / _VALUES)
            digest = hashlib.sha256((partial / _VALUES).read_bytes()).hexdigest()
            text = json.dumps({"schema": 1, **source, "values": digest}, indent=1, sort_keys=True)
            (partial / SOURCE).write_text(text + "\n", encoding="utf-8")
            (partial / _ASIDE).write_text("".join(f"{line}\n" for line in aside), encoding="utf-8")
            partial.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was first
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def read(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Nights and provenance, columns `NIGHTS` and `PROVENANCE`, of all imports in `folder`.

    Empty if there are none.  UserError for an import that is damaged or not one of ours.
    """
    found = sorted(path for path in folder.glob("*") if not path.name.startswith("."))
    if not found:
        return pl.DataFrame(schema=schema.NIGHTS), pl.DataFrame(schema=schema.PROVENANCE)
    for path in found:
        require_whole(path)
    reader.require(folder)
    made = nights.of(pl.concat([values(path / _VALUES) for path in found]))
    for row, frame in ((schema.Night, made[0]), (schema.Fact, made[1])):
        require.rows(frame, row, folder)
    return made


def require_whole(path: Path) -> dict[str, Any]:
    """What source.json of the import in `path` says; UserError if its values are not those."""
    source = files.read_json(path / SOURCE)
    if not isinstance(source, dict) or source.get("schema") != 1:
        raise UserError("not of an import: right is schema 1", path / SOURCE)
    digest = hashlib.sha256(files.read_bytes(path / _VALUES)).hexdigest()
    if source.get("values") != digest:
        raise UserError("not the values that source.json has the sha256 of", path / _VALUES)
    return source


def values(file: Path) -> pl.DataFrame:
    """The table of an import, columns `VALUES`; UserError for a broken table or another one."""
    with disk.decoding(file):
        table = pl.read_parquet(file)
    if dict(table.schema) != VALUES:
        raise UserError("not a table of imported values: its columns differ", file)
    require.rows(table, Value, file)
    for text in table["facts"].unique():
        facts = files.parse_json(text, file)
        if not isinstance(facts, dict) or not all(isinstance(one, str) for one in facts.values()):
            raise UserError("facts of a session are no texts", file)
    return table.select(*VALUES)
