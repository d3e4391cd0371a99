"""The ``spack`` command, if there is one: its version and its schemas."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roundtrip.errors import UserError

#: `include` with an environment variable, on which spack.yaml relies, came with this version.
OLDEST = (1, 1)

_VALIDATE = """
import importlib, json
import spack.config
import spack.util.spack_yaml as syaml

faults = []
for name, section in json.loads({files!r}):
    schema = importlib.import_module("spack.schema." + section).schema
    try:
        with open(name) as file:
            spack.config.validate(syaml.load(file), schema, name)
    except Exception as error:
        faults.append([name, str(error)])
print("FAULTS " + json.dumps(faults))
"""


@dataclass(frozen=True)
class Spack:
    """A Spack that is new enough."""

    command: Path
    version: str

    def schema_faults(self, files: Sequence[Path]) -> list[str]:
        """A line for each file that Spack's own schema refuses; UserError if Spack fails."""
        sections = [[str(f), "env" if f.stem == "spack" else f.stem] for f in files]
        code = _VALIDATE.format(files=json.dumps(sections))
        statement = f"exec({code!r})"  # `spack python -c` takes one statement
        done = subprocess.run(
            [self.command, "python", "-c", statement], capture_output=True, text=True
        )
        marked = re.search(r"^FAULTS (.*)$", done.stdout, re.MULTILINE)
        if not marked:
            raise UserError(f"`spack python` failed: {_last_line(done.stderr + done.stdout)}")
        faults: list[list[str]] = json.loads(marked[1])
        return [f"{name}: {' '.join(text.split())}" for name, text in faults]


def find() -> Spack | None:
    """Spack in ``$SPACK_ROOT`` or PATH; None without one, UserError if it is too old."""
    root = os.environ.get("SPACK_ROOT")
    candidate = Path(root) / "bin" / "spack" if root else None
    if candidate is None or not candidate.is_file():
        on_path = shutil.which("spack")
        candidate = Path(on_path) if on_path else None
    if candidate is None:
        return None
    done = subprocess.run([candidate, "--version"], capture_output=True, text=True)
    number = re.match(r"(\d+)\.(\d+)", done.stdout)
    if not number:
        raise UserError(f"{candidate} does not run: {_last_line(done.stderr + done.stdout)}")
    if tuple(map(int, number.groups())) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise UserError(f"{candidate} is Spack {done.stdout.strip()}: {needed} or newer is needed")
    return Spack(candidate, done.stdout.split()[0])


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
