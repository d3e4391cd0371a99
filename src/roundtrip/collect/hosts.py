"""Facts about hosts in env/host.json, and the names of hosts in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roundtrip.collect import confined
from roundtrip.errors import UserError

#: Fields of JSON that hold the name of a host, or a list of names.
FIELDS = ("host", "hosts", "hostname")


def cores(file: Path, root: Path | None = None) -> int | None:
    """Number of online processors of the host of a host.json; None if the file does not say it."""
    cpu = read(file, root).get("cpu")
    logical = cpu.get("logical") if isinstance(cpu, dict) else None
    return logical if isinstance(logical, int) and logical > 0 else None


def read(file: Path, root: Path | None = None) -> dict[str, Any]:
    """The object in a JSON file; empty if the file cannot be read or holds none."""
    try:
        data = confined.json(file, root)
    except UserError:
        return {}
    return data if isinstance(data, dict) else {}


def named(data: Any) -> Iterator[str]:
    """Every host name in the fields `FIELDS` of JSON data, at any depth."""
    if isinstance(data, dict):
        for key, value in data.items():
            values = value if isinstance(value, list) else [value]
            if key in FIELDS:
                yield from (item for item in values if isinstance(item, str))
            yield from named(value)
    elif isinstance(data, list):
        for item in data:
            yield from named(item)
