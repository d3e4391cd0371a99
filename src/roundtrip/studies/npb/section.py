"""The NPB section: verified, timed, and over two clusters joined by a slow link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report.blocks import (
    Block,
    Fold,
    Gallery,
    Heading,
    Items,
    Paragraph,
    Part,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.npb import Thresholds, scaling, tables, times
from roundtrip.studies.npb.data import EMULATED, Launches
from roundtrip.studies.npb.findings import (
    Finding,
    at_the_farthest,
    findings,
    foremost,
    in_one_place,
    over_the_link,
)
from roundtrip.studies.npb.speedup import claims, refused
from roundtrip.studies.study import Claim


class Section:
    """The report on eight benchmarks in a cluster, and over an emulated WAN."""

    def __init__(self, data: Data) -> None:
        self._launches = Launches(data)
        self._growth = scaling.node_growth(data, self._launches)
        self._settings = data.analysis.of(Thresholds)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Speed-ups, transports against each other, our programs against NPB's."""
        return dict(claims(self._launches).items())

    def part(self, judged: Mapping[Claim, ClaimVerdict]) -> Part:
        """Answers, speed-ups and why, times, messages, sources."""
        launches = self._launches
        has_link = bool(launches.over_the_link)
        found = findings(judged, launches, self._settings) if has_link else []
        against = tables.compared(judged)
        blocks: list[Block] = [Paragraph(_QUESTION)]
        if has_link:
            blocks += self._over_the_link(judged, found)
        blocks += [*_inside(launches), *self._growth.blocks("npb-growth")]
        blocks += [Heading(3, "What is sent"), times.messages(launches)]
        blocks += [Heading(3, "Verified in two ways"), times.verification(launches)]
        blocks.append(Heading(3, "Our programs and NPB's own"))
        if against:
            blocks.append(Fold("Both rates", (tables.source_rates(launches, against),)))
        else:
            blocks.append(Paragraph(_NO_UPSTREAM, is_note=True))
        if apart := refused(launches):
            told: list[Text] = [(f"{what}: {why}.",) for what, why in apart]
            blocks += [Heading(3, "Not compared, and why"), Items(tuple(told))]
        blocks += [Heading(3, "How to read NPB"), Items(_READING)]
        return Part(
            anchor="npb",
            title="NPB: how do two clusters on a slow link compute as one?"
            if has_link
            else "NPB: how fast are the NAS Parallel Benchmarks?",
            blocks=tuple(blocks),
            answers=tuple(
                at_the_farthest(launches, judged) if has_link else in_one_place(launches, judged)
            ),
            each=tuple(
                over_the_link(launches, found) if has_link else scaling.answers(launches, against)
            ),
            verdicts=(
                *((tables.verdicts(launches, foremost(found)),) if found else ()),
                *((tables.source_verdicts(self._launches, against),) if against else ()),
            ),
            warnings=tuple(tables.source_warnings(against)),
        )

    def _over_the_link(
        self, judged: Mapping[Claim, ClaimVerdict], found: Sequence[Finding]
    ) -> list[Block]:
        launches = self._launches
        compared = tables.transports(launches, judged, self._settings)
        drawn = scaling.over_the_link(launches)
        against: list[Block] = [
            Heading(3, "Transports against each other"),
            Fold("Every pair at every delay", (compared,)),
        ]
        return [
            tables.counterparts(),
            Heading(3, f"Speed-up over one cluster, {EMULATED}"),
            *([Gallery(scaling.link_caption(launches.level), drawn)] if drawn else []),
            tables.speedups(launches, judged),
            *(
                [Fold("The study's findings in every series", (tables.verdicts(launches, found),))]
                if len(found) > len(foremost(found))
                else []
            ),
            Heading(3, "Why: what an iteration waits for"),
            tables.tolerance(launches),
            Heading(3, "Compute and communication apart"),
            Fold("Every benchmark, transport and delay", (times.over_the_link(launches),)),
            *(against if compared.rows else []),
        ]


def _inside(launches: Launches) -> list[Block]:
    """Times and rates, and how they scale over ranks."""
    grown, drawn = scaling.table(launches), scaling.plots(launches)
    over_ranks: list[Block] = [
        Heading(3, "Speed-up over ranks"),
        *([Gallery(scaling.caption(launches.level), drawn)] if drawn else []),
        grown,
    ]
    return [
        Heading(3, "In one machine or cluster"),
        times.inside(launches),
        *(over_ranks if grown.rows else []),
    ]


_QUESTION: Text = (
    "The NAS Parallel Benchmarks compute, exchange and verify. In 2003 Matsuda, Kudoh and Ishikawa "
    "ran them on two clusters of 16 hosts whose link had a round-trip time of up to 4 ms, with "
    "three MPI libraries. Every launch counted here verified its results against the published "
    "ones. A launch that did not verify is a failure and is listed as such, however fast it was.",
)
_NO_UPSTREAM: Text = (
    "NPB 3.4's own programs were not launched, so this report says nothing about how our programs "
    "compare with them. They run where an environment names their folder (Spack's package npb, or "
    "npb_upstream in the extras of the site's environments).",
)
_READING: tuple[Text, ...] = (
    (
        "A benchmark tolerates a delay if an iteration waits for few round trips, not if it sends "
        "few messages: messages under way at the same time share one wait.",
    ),
    (
        "A processor of today does in a millisecond what took one of 2003 tens of them, so that "
        "the same delay costs more of an iteration. Compare the round trips waited for, which do "
        "not depend on the processor, and the delay at which the study's speed-up is found.",
    ),
    (
        "Both clusters and one are measured in the same round in random order; a speed-up is "
        "formed for each round, then its median. BT and SP take square numbers of ranks: their "
        "base is one cluster with as many ranks, so that 1 means that the link costs nothing.",
    ),
    (
        "Our programs send the messages of NPB 3.4 but compute faster, so the same delay is a "
        "greater part of their time. To compare the two, use the time that the delay adds and the "
        "round trips waited for: neither depends on how fast a rank computes.",
    ),
    (
        "Communication is all time inside MPI, also while a rank waits for a late partner. Compute "
        "is the rest, also while a rank waits for a processor that it shares.",
    ),
)
