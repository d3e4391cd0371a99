"""Changes JSON files, and texts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def content(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON object in a file; what the block changes of it is written."""
    value = json.loads(file.read_text())
    yield value
    file.write_text(json.dumps(value))


def edit(file: Path, **changes: Any) -> None:
    with content(file) as value:
        value |= changes


def replace_text(file: Path, old: str, new: str) -> None:
    """Replace `old`, which must be there, in a file."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
