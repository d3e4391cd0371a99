"""A short line says no more, and no less, than the verdicts behind it."""

from dataclasses import replace

import pytest

from roundtrip import units
from roundtrip.measure import analysis
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict, judge
from roundtrip.studies.findings import (
    PointVerdict,
    SubjectVerdict,
    cost_sentence,
    describe_joint_verdict,
)

SLOWER, FASTER = Verdict.SLOWER, Verdict.FASTER
ON_PAR, CANNOT_TELL = Verdict.ON_PAR, Verdict.CANNOT_TELL
KIB = 1024


def sentence(*places: tuple[str, int, Verdict | None, float]) -> str:
    verdicts = [
        PointVerdict(
            place, size, verdict and ClaimVerdict(Interval(ratio, None, None, 9), 1.0, 1.0, verdict)
        )
        for place, size, verdict, ratio in places
    ]
    return units.printable(cost_sentence("Boost.MPI", "raw MPI", verdicts))


@pytest.mark.parametrize(
    ("places", "expected"),
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
            "Boost.MPI costs 12 % over raw MPI at 1 B; on par elsewhere (medians within 1 %)",
        ),
        (
            [("A", 1, SLOWER, 1 / 1.12), ("A", KIB, ON_PAR, 1.0), ("A", 2 * KIB, CANNOT_TELL, 0.6)],
            "Boost.MPI costs 12 % over raw MPI at 1 B; open at 2 KiB; on par elsewhere "
            "(medians within 1 %)",
        ),
        (
            [("A", 1, SLOWER, 1 / 2.5), ("B", 1, SLOWER, 1 / 30)],
            "Boost.MPI is 2.5 to 30 times slower than raw MPI",
        ),
        (
            [("A", 1, FASTER, 1.2), ("B", 1, CANNOT_TELL, 1.2)],
            "Boost.MPI is 20 % faster than raw MPI on A; open on B",
        ),
        ([("A", 1, CANNOT_TELL, 0.5)], "Boost.MPI against raw MPI: open"),
        (
            [("A", 1, ON_PAR, 1.0), ("A", KIB, None, 1.0)],
            "Boost.MPI is on par with raw MPI at 1 B (medians within 1 %); not measured at 1 KiB",
        ),
        (
            [
                *[("A", 1, SLOWER, 0.8), ("A", 8, SLOWER, 0.8)],
                *[("B", 8, SLOWER, 0.8), ("B", 1, CANNOT_TELL, 0.8)],
            ],
            "Boost.MPI costs 25 % over raw MPI at 1 B, 8 B on A and at 8 B on B; open at 1 B on B",
        ),
    ],
)
def test_what_is_said(places: list[tuple[str, int, Verdict | None, float]], expected: str) -> None:
    assert sentence(*places) == expected


def test_sizes_in_a_row_are_a_range_and_many_places_are_counted() -> None:
    rows = [
        ("A", 2**k, SLOWER if 0 < k < 4 else ON_PAR, 0.9 if 0 < k < 4 else 1.0) for k in range(6)
    ]
    assert sentence(*rows).startswith(
        "Boost.MPI costs 11 % over raw MPI at 2 B to 8 B; on par elsewhere"
    )
    places = [(name, 2**k, SLOWER if name == "ABCDE"[k] else ON_PAR, 0.9) for k in range(5)
            for name in "ABCDE"]  # fmt: skip
    start = "Boost.MPI costs 11 % over raw MPI in 5 of 25 comparisons; on par elsewhere"
    assert sentence(*places).startswith(start)


def open_at(low: float, median: float, high: float, q: float) -> str:
    levels = analysis.default_settings().statistics
    verdicts = judge({"a": [low, low, median, median, median, median, median, high, high]}, levels)
    place = PointVerdict("A", KIB, replace(verdicts["a"], q=q))
    return units.printable(cost_sentence("Boost.MPI", "raw MPI", [place]))


def test_what_is_known_stands_where_no_verdict_is_possible_yet() -> None:
    assert open_at(1.02, 1.03, 1.06, 0.005) == (
        "Boost.MPI against raw MPI: 2 to 6 % faster (95 % interval; open whether 5 % or more: "
        "about 12 more launches)"
    )
    assert open_at(0.97, 1.02, 1.06, 0.5) == (
        "Boost.MPI against raw MPI: 3.1 % slower to 6 % faster (95 % interval; open: about 19 "
        "more launches)"
    )
    assert open_at(0.2, 1.01, 3.0, 0.5).endswith(
        ": 5.0 times slower to 3.0 times as fast (95 % interval; open)"
    )


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.02, 1.06, "2 to 6 % faster"),
        (1.12, 1.12, "12 % faster"),
        (1.5, 1786.56, "1.5 to 1 787 times as fast"),
        (0.5, 0.8, "25 to 100 % slower"),
        (0.01, 0.8, "1.2 to 100 times slower"),
        (0.97, 2.5, "3.1 % slower to 2.5 times as fast"),
    ],
)
def test_ratios_above_two_are_times(low: float, high: float, words: str) -> None:
    assert units.printable(units.speed_ratio_text(low, high)) == words


def test_toolchains_are_named_by_what_differs() -> None:
    first, second = "Open MPI 4.1, Boost 1.81", "MPICH 4.0, Boost 1.81"
    assert sentence((first, 1, SLOWER, 0.8), (second, 1, ON_PAR, 1.0)) == (
        "Boost.MPI costs 25 % over raw MPI on Open MPI 4.1; on par elsewhere (medians within 1 %)"
    )


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([("a", 1, SLOWER), ("b", 2, SLOWER)], "slower"),
        ([("a", 1, CANNOT_TELL), ("b", 1, CANNOT_TELL)], "open"),
        ([("a", 1, SLOWER), ("b", 1, CANNOT_TELL)], "slower where decided"),
        ([("a", 1, SLOWER), ("b", 1, FASTER)], "it depends on the MPI"),
        ([("a", 1, SLOWER), ("a", 2, FASTER), ("b", 1, CANNOT_TELL)], "it depends on where"),
        ([("a", 1, SLOWER), ("b", 2, FASTER)], "it differs from case to case"),
        ([("a", 1, SLOWER), ("a", 1, ON_PAR)], "it differs from case to case"),
    ],
)
def test_only_what_differs_alone_is_said_to_decide(
    outcomes: list[tuple[str, int, Verdict]], words: str
) -> None:
    names = {verdict: str(verdict) for verdict in Verdict} | {CANNOT_TELL: "open"}
    verdicts = [SubjectVerdict(*outcome) for outcome in outcomes]
    assert describe_joint_verdict(verdicts, names, "MPI") == words
