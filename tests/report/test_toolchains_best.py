"""A winner is named only where it was found faster than every other; the rest says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roundtrip.report.blocks import plain_text
from roundtrip.report.sections.races import race_answers, race_tables, races, top_tables
from roundtrip.report.speeds import Setting, ToolchainComparison
from roundtrip.report.units import printable
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict

SETTING = Setting("netpipe", "NetPIPE", "local:smp", "mode pingpong", "")
TITLES = {name: f"MPI {name}, Boost 1.81" for name in "abcd"}
FASTER, SLOWER = Verdict.FASTER, Verdict.SLOWER
ON_PAR, UNKNOWN = Verdict.ON_PAR, Verdict.CANNOT_TELL


def judged(
    *pairs: tuple[str, Verdict, float],
    size: int | None = 1,
    what: str = "MPI",
    setting: Setting = SETTING,
) -> Any:
    return {
        ToolchainComparison(setting, pair[0], pair[1], what, size): ClaimVerdict(
            Interval(ratio, None, None, 9), 0.01, 0.01, verdict
        )
        for pair, verdict, ratio in pairs
    }


def cell(*pairs: tuple[str, Verdict, float]) -> tuple[str, str]:
    (table,) = race_tables(races(judged(*pairs), {}), TITLES)
    (row,) = table.rows
    assert [label.text for label in row[:2]] == ["MPI", "Boost 1.81"]
    return row[2].text, printable(row[2].verdict)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("ab", FASTER, 1.3)], ("MPI a", "30 % faster")),
        ([("ab", SLOWER, 0.5)], ("MPI b", "100 % faster")),
        ([("ab", ON_PAR, 1.01)], ("", "on par")),
        ([("ab", UNKNOWN, 1.6)], ("", "open")),
        ([("ab", FASTER, 1.3), ("ac", FASTER, 1.12), ("bc", UNKNOWN, 1)], ("MPI a", "12 % faster")),
        # Nobody found a faster than c.
        ([("ab", FASTER, 1.3), ("ac", UNKNOWN, 1.1), ("bc", ON_PAR, 1)], ("MPI a or MPI c", "open")),  # noqa: E501
        ([("ab", FASTER, 1.3), ("ac", ON_PAR, 1.0), ("bc", SLOWER, 0.8)], ("MPI a, MPI c", "on par")),  # noqa: E501
        # c was never compared with a: a leads, and has not won.
        ([("ab", FASTER, 1.3), ("bc", FASTER, 1.3)], ("MPI a", "open")),
        # Each is faster than the next: no order.
        ([("ab", FASTER, 1.3), ("bc", FASTER, 1.3), ("ac", SLOWER, 0.7)], ("", "open")),
    ],
)  # fmt: skip
def test_the_winner(pairs: list[tuple[str, Verdict, float]], expected: tuple[str, str]) -> None:
    assert cell(*pairs) == expected


def test_of_many_that_none_is_faster_than_a_few_are_named() -> None:
    verdicts = judged(*((f"{one}{other}", FASTER, 1.3) for one in "abcdefgh" for other in "z"))
    titles = {name: f"MPI {name}, Boost 1.81" for name in "abcdefghz"}
    (table,) = race_tables(races(verdicts, {}), titles)
    winners = " or ".join(f"MPI {name}" for name in "abcdef")
    assert table.rows[0][2].text == f"{winners} or 2 more"


def test_races_that_no_comparison_joins_are_rows_of_their_own() -> None:
    two_races = races(judged(("ab", FASTER, 1.3), ("cd", UNKNOWN, 1.0)), {})
    assert [race.toolchains for race in two_races] == [("a", "b"), ("c", "d")]
    assert [answer.text for answer in race_answers(two_races, TITLES)] == [
        ("MPI a is fastest in 1 of 2 comparisons: 30\N{NO-BREAK SPACE}% faster.",),
        ("Which is fastest is undecided in 1 of 2 comparisons.",),
    ]
    (answer,) = race_answers(races(judged(("ab", UNKNOWN, 1.0), ("cd", UNKNOWN, 1.0)), {}), TITLES)
    assert answer.text == ("No toolchain is shown to be fastest: every comparison is open.",)
    assert race_answers([], TITLES) == ()


def test_only_so_many_rows_stand_at_the_top_and_the_others_are_counted() -> None:
    verdicts = {
        k: v for n in range(20) for k, v in judged(("ab", ON_PAR, 1.0), what=f"w{n}").items()
    }
    (table,) = top_tables(races(verdicts, {}), TITLES)
    assert len(table.rows) == 8 and table.caption.endswith(" 12 more below.")
    (full_table,) = race_tables(races(verdicts, {}), TITLES)
    assert len(full_table.rows) == 20


def test_values_without_a_size_have_a_column() -> None:
    verdicts = {**judged(("ab", ON_PAR, 1.0), size=None), **judged(("ab", FASTER, 2.0), size=8)}
    (table,) = race_tables(races(verdicts, {}), TITLES)
    assert [printable(column.name) for column in table.columns[2:]] == ["All", "8 B"]


def test_rows_name_where_they_differ_and_a_size_of_their_own() -> None:
    settings = {
        app: replace(SETTING, parameters=f"app {app}, placement shared-memory, ranks {ranks}")
        for app, ranks in (("FFT", 2), ("LU", 4))
    }
    verdicts = {
        key: verdict
        for (app, setting), size in zip(settings.items(), (8, 16), strict=True)
        for key, verdict in judged(
            ("ab", ON_PAR, 1.0), size=size, what=f"{app}, datatypes", setting=setting
        ).items()
    }
    (table,) = race_tables(races(verdicts, {}), TITLES)
    assert [column.name for column in table.columns] == ["What", "With", "Fastest"]
    assert [printable(row[0].text) for row in table.rows] == [
        "FFT, datatypes, ranks 2 at 8 B",
        "LU, datatypes, ranks 4 at 16 B",
    ]


WAN = replace(SETTING, parameters="mode pingpong, wan_rtt 2", kind="EMULATED WAN: RTT 2 ms")


def front(*parts: Any) -> list[str]:
    verdicts = {key: verdict for part in parts for key, verdict in part.items()}
    answers = race_answers(races(verdicts, {}), TITLES)
    return [printable(plain_text(answer.text)) for answer in answers]


def test_an_answer_names_the_setting_and_what_is_emulated() -> None:
    assert front(
        judged(("ab", FASTER, 1.3)), judged(("ab", SLOWER, 0.7), what="MPI", setting=WAN)
    ) == [
        "No overall winner: MPI a is fastest in 1 of 2 comparisons (in part EMULATED WAN: "
        "RTT 2 ms), MPI b in 1.",
        "MPI a is fastest for MPI at 1 B: 30 % faster.",
        "MPI b is fastest for MPI, wan_rtt 2, EMULATED WAN: RTT 2 ms at 1 B: 43 % faster.",
    ]


def test_an_answer_over_emulated_values_says_so() -> None:
    emulated = [judged(("ab", FASTER, 1.3), what=f"w{number}", setting=WAN) for number in range(4)]
    places = "; ".join(f"w{n}, wan_rtt 2, EMULATED WAN: RTT 2 ms at 1 B" for n in range(3))
    assert front(*emulated) == [
        "MPI a is fastest everywhere (EMULATED WAN: RTT 2 ms): 30 % faster."
    ]
    assert front(*emulated, judged(("ab", SLOWER, 0.7))) == [
        "MPI a leads: fastest in 4 of 5 comparisons (in part EMULATED WAN: RTT 2 ms), MPI b in 1.",
        f"MPI a is fastest for {places}, and 1 more: 30 % faster.",
        "MPI b is fastest for MPI at 1 B: 43 % faster.",
    ]
    assert front(*emulated, judged(("ab", FASTER, 1.3))) == [
        "MPI a is fastest everywhere (in part EMULATED WAN: RTT 2 ms): 30 % faster."
    ]


def test_races_of_more_ranks_than_processors_stand_apart() -> None:
    shared = replace(SETTING, parameters="placement oversubscribed")
    assert front(judged(("ab", FASTER, 1.3)), judged(("ab", SLOWER, 0.001), setting=shared)) == [
        "MPI a is fastest for MPI at 1 B: 30 % faster.",
        "More ranks than processors: MPI b is fastest for MPI at 1 B: 1 000 times as fast.",
    ]
