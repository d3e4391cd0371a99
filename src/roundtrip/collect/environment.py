"""What a run recorded about its machine and software: ``env/``, with pseudonyms for hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.collect import confined
from roundtrip.collect.hosts import named
from roundtrip.collect.pseudonyms import Pseudonyms
from roundtrip.errors import UserError

#: Files that are copied unchanged: people or Spack wrote them, and they have no field for a host.
_VERBATIM = (".lock", ".toml")
#: ``<file>.resumed-<n>`` is what a resumed run recorded where it differs.
_AGAIN = ".resumed-"


@dataclass(frozen=True)
class Environment:
    """The texts of the files of ``env/``, by name."""

    texts: dict[str, str]

    @staticmethod
    def read(run_dir: Path) -> Environment:
        """The regular files in ``env/`` itself; UserError if one of them cannot be read."""
        folder = run_dir / "env"
        if folder.is_symlink():
            raise UserError("a symbolic link: not followed", folder)
        texts = {}
        for file in sorted(folder.glob("*")):
            if file.is_file() and not file.is_symlink():
                content = confined.read(file, run_dir)
                texts[_plain(file)] = content.decode("utf-8", errors="replace")
        return Environment(texts)

    def hosts(self) -> Iterator[str]:
        """Names of hosts in fields that hold one."""
        for text in self.texts.values():
            yield from named(_json(text))

    def write(self, folder: Path, names: Pseudonyms) -> None:
        """Write the files to a new folder."""
        folder.mkdir()
        for name, text in self.texts.items():
            (folder / name).write_bytes(_scrubbed(name, text, names).encode())


def _plain(file: Path) -> str:
    """The name of a file, which a manifest must be able to list."""
    if not file.name.isprintable() or "\\" in file.name:
        raise UserError(f"{file.name!a} is not a name that a file in env/ may have", file.parent)
    return file.name


def _scrubbed(name: str, text: str, names: Pseudonyms) -> str:
    kind = Path(name.split(_AGAIN)[0]).suffix
    if kind in _VERBATIM:
        return text
    if kind == ".py":
        return names.source(text)
    data = _json(text)
    if kind != ".json" or data is None:
        return names.message(text)
    replaced = names.fields(data)
    return text if replaced == data else json.dumps(replaced, indent=1, ensure_ascii=False) + "\n"


def _json(text: str) -> Any:
    """The data of a text that is JSON, else None."""
    try:
        return files.parse_json(text)
    except UserError:
        return None
