"""A launch of an OSU benchmark in our own format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.studies import foreign
from roundtrip.studies.metrics import METRICS
from roundtrip.studies.osu.derived import STUDY
from roundtrip.studies.osu.output import Output

#: Outputs in the folder of a launch: measured, and of the validation run before it.
MEASURED, VALIDATED = "osu.txt", "validation.txt"


@dataclass(frozen=True)
class Ran:
    """What the output does not tell: command, ranks, hosts as they name themselves.

    `simulated`: by what, as in run.json; None where real ranks ran.  `identity`, as in run.json:
    what each rank runs, as far as it is known from outside of the program.
    """

    command: Sequence[str]
    ranks: int
    hosts: Sequence[str]
    simulated: Mapping[str, Any] | None = None
    identity: Sequence[Mapping[str, Any]] = ()


def convert(folder: Path, output: Output, validated: bool, ran: Ran) -> None:
    """Write ``samples.csv`` and ``run.json`` into `folder`, as one of our workloads would.

    `validated`: whether a validation run of the same program passed just before.
    """
    variant = f"osu-{output.version}"
    points = [
        foreign.point(
            *(output.benchmark.name, variant, row.size_bytes),
            samples=len(row.values),
            batch=row.iterations,
            status="repeated",
            verified=validated,
        )
        for row in output.rows
    ]
    record = {
        "workload": "osu",
        "version": output.version,
        "command": list(ran.command),
        "notes": output.notes,
        "ranks": ran.ranks,
        "hosts": list(ran.hosts),
        "points": points,
        "simulated": ran.simulated,
        "identity": list(ran.identity),
    }
    foreign.write(folder / MEASURED, record, _rows(output, variant), output.notes)


def _rows(output: Output, variant: str) -> Iterator[list[str | int]]:
    for row in output.rows:
        for (statistic, metric), value in row.values.items():
            yield [
                *(STUDY, output.benchmark.name, variant, row.size_bytes, statistic, 0, metric),
                *(f"{value:.12g}", METRICS[metric].unit),
            ]
