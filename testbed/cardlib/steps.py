"""Timed steps, and the table of their times and sizes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


class StepError(Exception):
    """A failed step; the message names the command."""


@dataclass
class Step:
    """A step with its wall time and processor time in seconds, and a `size` in bytes."""

    name: str
    clock: float = 0.0
    processor: float = 0.0
    size: int | None = None
    has_succeeded: bool = False


@dataclass
class Steps:
    """The steps so far."""

    timed_steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Time the block as the step `name`."""
        print(f"\ncard: {name}", flush=True)
        step = Step(name)
        self.timed_steps.append(step)
        clock, processor = time.monotonic(), _processor()
        try:
            yield step
            step.has_succeeded = True
        finally:
            step.clock, step.processor = time.monotonic() - clock, _processor() - processor


def run(words: Sequence[str | Path], folder: Path, variables: Mapping[str, str] = {}) -> None:
    """Run a command with its output shown; StepError if it fails."""
    sys.stdout.flush()
    if subprocess.run(words, cwd=folder, env={**os.environ, **variables}).returncode:
        raise StepError(f"failed: {' '.join(map(str, words))}")


def output_of(
    words: Sequence[str | Path], folder: Path, variables: Mapping[str, str] = {}
) -> str | None:
    """The standard output of a command; None if it fails."""
    environ = {**os.environ, **variables}
    process = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True)
    return None if process.returncode else process.stdout.strip()


def size(folder: Path) -> int:
    """Bytes of all files below `folder`; 0 if there is none."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(file.stat().st_size for file in files)


def table(steps: Sequence[Step]) -> str:
    """A table with a line for each step: wall minutes, processor minutes, MB."""
    lines = [f"\n{'step':<44} {'minutes':>8} {'of CPU':>8} {'MB':>7}"]
    for step in steps:
        mb = "" if step.size is None else f"{step.size / 1e6:.0f}"
        mark = "" if step.has_succeeded else "  FAILED"
        lines.append(
            f"{step.name:<44} {step.clock / 60:>8.1f} {step.processor / 60:>8.1f} {mb:>7}{mark}"
        )
    return "\n".join(lines)


def _processor() -> float:
    """Processor seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
