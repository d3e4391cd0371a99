"""Files laid over the configuration of Slurm: other partitions, a topology, preemption."""

from __future__ import annotations

import shutil
from pathlib import Path

from vclusterlib.errors import UserError
from vclusterlib.state import State, write_atomically

#: Keys of slurm.conf with which a line describes one thing of many.
_MANY = ("NodeName", "PartitionName")
_CONF = "slurm.conf"
_OURS = (_CONF, "slurmdbd.conf")


def take(folder: str, state: State) -> None:
    """Copy the configuration files of `folder` into the state, for every boot; none without it.

    UserError if there are none in `folder`.
    """
    own = state.path / "overlay"
    shutil.rmtree(own, ignore_errors=True)
    files = sorted(Path(folder).glob("*.conf")) if folder else []
    if folder and not files:
        raise UserError(f"--slurm {folder}: there is no *.conf in it")
    for file in files:
        own.mkdir(exist_ok=True)
        shutil.copyfile(file, own / file.name)


def lay(state: State, text: str) -> str:
    """`text` of slurm.conf under the one that was taken, if any.

    A line of a node or partition that is known changes the keys that it names, and leaves the
    others; any other key stands for the one in `text`; what is not there yet is added.
    """
    file = state.path / "overlay" / _CONF
    if not file.is_file():
        return text
    lines = text.splitlines()
    for line in file.read_text().splitlines():
        if (wanted := line.split("#")[0].strip()) and (fields := _fields(wanted)):
            _put(lines, wanted, fields)
    return "\n".join(lines) + "\n"


def write(state: State) -> None:
    """Put the other files that were taken, such as topology.conf, beside slurm.conf."""
    for old in (state.etc / "slurm").glob("*.conf"):
        if old.name not in _OURS:
            old.unlink()
    for file in sorted((state.path / "overlay").glob("*.conf")):
        if file.name not in _OURS:
            write_atomically(state.etc / "slurm" / file.name, file.read_text(), 0o644)


def _put(lines: list[str], wanted: str, fields: dict[str, str]) -> None:
    key = next(iter(fields))
    for number, line in enumerate(lines):
        there = _fields(line)
        if key not in _MANY and key in there:
            lines[number] = wanted
            return
        if key in _MANY and there.get(key) == fields[key]:
            merged = {**there, **fields}
            lines[number] = " ".join(f"{name}={value}" for name, value in merged.items())
            return
    lines.append(wanted)


def _fields(line: str) -> dict[str, str]:
    """``Key=value`` by key; only the first where the line describes no node and no partition."""
    pairs = [word.split("=", 1) for word in line.split() if "=" in word]
    if pairs and pairs[0][0] not in _MANY:
        pairs = pairs[:1]
    return dict(pairs)
