"""A short line says no more, and no less, than the verdicts behind it."""

from __future__ import annotations

import pytest

from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import VerdictAt, line

SLOWER, FASTER = Verdict.SLOWER, Verdict.FASTER
ON_PAR, CANNOT_TELL = Verdict.ON_PAR, Verdict.CANNOT_TELL
KIB = 1024


def told(*places: tuple[str, int, Verdict | None, float]) -> str:
    found = [
        VerdictAt(
            where, size, verdict and ClaimVerdict(Interval(ratio, None, None, 9), 1.0, 1.0, verdict)
        )
        for where, size, verdict, ratio in places
    ]
    return line("Boost.MPI", "raw MPI", found).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("places", "wanted"),
    [
        ([], "Boost.MPI was not compared with raw MPI"),
        ([("A", 1, None, 1.0)], "Boost.MPI was not compared with raw MPI"),
        (
            [("A", 1, ON_PAR, 0.993), ("A", KIB, ON_PAR, 1.019)],
            "Boost.MPI is on par with raw MPI (medians within 2 %)",
        ),
        ([("A", 1, ON_PAR, 1.0)], "Boost.MPI is on par with raw MPI (medians within 1 %)"),
        (
            [("A", 1, SLOWER, 1 / 1.12), ("A", KIB, ON_PAR, 0.999)],
            "Boost.MPI costs 12 % at 1 B; on par elsewhere (medians within 1 %)",
        ),
        (
            [("A", 1, SLOWER, 1 / 1.12), ("A", KIB, ON_PAR, 1.0), ("A", 2 * KIB, CANNOT_TELL, 0.6)],
            "Boost.MPI costs 12 % at 1 B; on par at 1 KiB (medians within 1 %); cannot tell at "
            "2 KiB",
        ),
        (
            [("A", 1, SLOWER, 1 / 2.5), ("B", 1, SLOWER, 1 / 30)],
            "Boost.MPI is 2.5 to 30 times slower",
        ),
        (
            [("A", 1, FASTER, 1.2), ("B", 1, CANNOT_TELL, 1.2)],
            "Boost.MPI is 20 % faster on A; cannot tell on B",
        ),
        ([("A", 1, CANNOT_TELL, 0.5)], "Boost.MPI against raw MPI: cannot tell"),
        (
            [("A", 1, ON_PAR, 1.0), ("A", KIB, None, 1.0)],
            "Boost.MPI is on par with raw MPI at 1 B (medians within 1 %); not measured at 1 KiB",
        ),
        (
            [
                *[("A", 1, SLOWER, 0.8), ("A", 8, SLOWER, 0.8)],
                *[("B", 8, SLOWER, 0.8), ("B", 1, CANNOT_TELL, 0.8)],
            ],
            "Boost.MPI costs 25 % in 3 of 4 comparisons; cannot tell at 1 B on B",
        ),
    ],
)
def test_what_is_told(places: list[tuple[str, int, Verdict | None, float]], wanted: str) -> None:
    assert told(*places) == wanted


def test_sizes_in_a_row_are_a_range_and_many_places_are_counted() -> None:
    run = [
        ("A", 2**k, SLOWER if 0 < k < 4 else ON_PAR, 0.9 if 0 < k < 4 else 1.0) for k in range(6)
    ]
    assert told(*run).startswith("Boost.MPI costs 11 % at 2 B to 8 B; on par elsewhere")
    many = [(name, 2**k, SLOWER if name == "ABCDE"[k] else ON_PAR, 0.9) for k in range(5)
            for name in "ABCDE"]  # fmt: skip
    assert told(*many).startswith("Boost.MPI costs 11 % in 5 of 25 comparisons; on par elsewhere")
