"""Changes JSON files."""

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
    """Change keys of the JSON object in a file."""
    with content(file) as value:
        value |= changes
