"""Files laid over the configuration of Slurm: other partitions, a topology, preemption."""

from __future__ import annotations

import shutil
from pathlib import Path

from vclusterlib.errors import UserError
from vclusterlib.state import State, write_atomically

#: First keys of the lines of slurm.conf that each describe one of several nodes or partitions.
_REPEATED_KEYS = ("NodeName", "PartitionName")
_CONF = "slurm.conf"
_OUR_FILES = (_CONF, "slurmdbd.conf")


def take(folder: str, state: State) -> None:
    """Replace the overlay in the state by the configuration files of `folder`; "" removes it.

    UserError if `folder` has none.
    """
    overlay_folder = state.path / "overlay"
    shutil.rmtree(overlay_folder, ignore_errors=True)
    files = sorted(Path(folder).glob("*.conf")) if folder else []
    if folder and not files:
        raise UserError(f"--slurm {folder}: there is no *.conf in it")
    for file in files:
        overlay_folder.mkdir(exist_ok=True)
        shutil.copyfile(file, overlay_folder / file.name)


def lay(state: State, text: str) -> str:
    """The `text` of slurm.conf, changed by the slurm.conf of the overlay, if any.

    A line of a node or partition in `text` changes only the keys that it names; any other key
    replaces that in `text`; new nodes, partitions and keys are added.
    """
    file = state.path / "overlay" / _CONF
    if not file.is_file():
        return text
    lines = text.splitlines()
    for line in file.read_text().splitlines():
        if (new_line := line.split("#")[0].strip()) and (fields := _fields(new_line)):
            _put(lines, new_line, fields)
    return "\n".join(lines) + "\n"


def write(state: State) -> None:
    """Put the other files of the overlay, such as topology.conf, beside slurm.conf."""
    for old_file in (state.etc / "slurm").glob("*.conf"):
        if old_file.name not in _OUR_FILES:
            old_file.unlink()
    for file in sorted((state.path / "overlay").glob("*.conf")):
        if file.name not in _OUR_FILES:
            write_atomically(state.etc / "slurm" / file.name, file.read_text(), 0o644)


def _put(lines: list[str], new_line: str, fields: dict[str, str]) -> None:
    key = next(iter(fields))
    for number, line in enumerate(lines):
        old_fields = _fields(line)
        if key not in _REPEATED_KEYS and key in old_fields:
            lines[number] = new_line
            return
        if key in _REPEATED_KEYS and old_fields.get(key) == fields[key]:
            all_fields = {**old_fields, **fields}
            lines[number] = " ".join(f"{name}={value}" for name, value in all_fields.items())
            return
    lines.append(new_line)


def _fields(line: str) -> dict[str, str]:
    """The values of a line by key; only the first unless it is of a node or partition."""
    pairs = [word.split("=", 1) for word in line.split() if "=" in word]
    if pairs and pairs[0][0] not in _REPEATED_KEYS:
        pairs = pairs[:1]
    return dict(pairs)
