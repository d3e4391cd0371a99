"""The DDTBench section: the study of datatypes against packing by hand, repeated.

The answers name the micro-apps for which datatypes are faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report.blocks import (
    Answer,
    Block,
    Fold,
    Gallery,
    Heading,
    Items,
    Paragraph,
    Part,
    Strong,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.ddtbench import (
    APPS,
    BUFFERS,
    MANUAL,
    ORIGINAL,
    STUDY,
    TUNED,
    published,
    tables,
)
from roundtrip.studies.ddtbench.data import (
    DdtData,
    Panel,
    draw_overhead,
    draw_time,
    overhead_caption,
    time_caption,
)
from roundtrip.studies.ddtbench.tables import comparison
from roundtrip.studies.findings import (
    Comparison,
    Outcome,
    joint_words,
    study_verdicts,
    undecided_text,
)
from roundtrip.studies.study import Claim


def overall(panels: Sequence[Panel], verdicts: Mapping[Comparison, ClaimVerdict]) -> Answer:
    """The advice for each micro-app, over all panels."""
    outcomes: dict[str, list[Outcome]] = {}
    for panel in panels:
        mpi, where = panel.toolchain.partition(", ")[0], (panel.where, panel.kind)
        for app, verdict in _app_verdicts(panel, verdicts).items():
            outcomes.setdefault(app, []).append(Outcome(mpi, where, verdict.verdict))
    if not outcomes:
        return Answer(("Datatypes and packing by hand were not compared.",), "warn")
    advice = {verdict: words for verdict, (words, _) in tables.ADVICE.items()}
    groups: dict[str, list[str]] = {words: [] for words in advice.values()}
    for app in (app for app in APPS if app in outcomes):
        groups.setdefault(joint_words(outcomes[app], advice, "MPI"), []).append(app)
    clauses = _group_text(groups)
    return Answer((f"{clauses[0].upper()}{clauses[1:]}.",))


#: The last group is counted, not listed, if it has more micro-apps than this.
_MOST_NAMED = 6


def _group_text(groups: Mapping[str, Sequence[str]]) -> str:
    """``use datatypes for NAS_LU_x; pack by hand for FFT``: large groups come last."""
    pairs = sorted(((words, apps) for words, apps in groups.items() if apps), key=_is_largest)
    clauses = [f"{words} for {', '.join(apps)}" for words, apps in pairs]
    words, apps = pairs[-1]
    if len(apps) > _MOST_NAMED:
        rest = f"the other {len(apps)}" if len(pairs) > 1 else f"all {len(apps)}"
        clauses[-1] = f"{words} for {rest}"
    return "; ".join(clauses)


def _is_largest(group: tuple[str, Sequence[str]]) -> bool:
    return len(group[1]) > _MOST_NAMED


def panel_answer(panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict]) -> Answer:
    """The advice for each micro-app in one panel; if it is open, the range of the gain."""
    verdicts_by_app = _app_verdicts(panel, verdicts)
    clauses = []
    for verdict, (words, _) in tables.ADVICE.items():
        apps = [
            app
            for app in APPS
            if app in verdicts_by_app and verdicts_by_app[app].verdict is verdict
        ]
        if verdict is Verdict.CANNOT_TELL:
            clauses += [f"{app}: {undecided_text([verdicts_by_app[app]])}" for app in apps]
        elif apps:
            clauses.append(f"{words} for {', '.join(apps)}")
    tuned_apps = [
        key.case
        for key, verdict in verdicts.items()
        if (key.panel, key.contrast.base) == (panel.key, TUNED)
        and verdict.verdict is Verdict.SLOWER
        and verdicts_by_app[key.case].verdict is not Verdict.SLOWER
    ]
    if tuned_apps:
        clauses.append(
            f"loops tuned by hand beat datatypes for {', '.join(tuned_apps)} all the same"
        )
    if clauses and (missing_apps := [app for app in APPS if app not in verdicts_by_app]):
        clauses.append(f"not compared: {', '.join(missing_apps)}")
    return Answer((Strong(panel.label), f": {'; '.join(clauses) or 'nothing was compared'}."))


def _app_verdicts(
    panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict]
) -> dict[str, ClaimVerdict]:
    """The verdict on datatypes against packing by hand, by micro-app."""
    return {
        key.case: verdict
        for key, verdict in verdicts.items()
        if (key.panel, key.contrast.base) == (panel.key, MANUAL)
    }


class Section:
    """Packing overhead of 16 micro-apps, and whether to use datatypes."""

    def __init__(self, data: Data) -> None:
        self._data = DdtData(data)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Datatypes against packing by hand, at each micro-app's largest message."""
        ratios_by_claim: dict[Claim, Sequence[float]] = {}
        for panel in self._data.panels:
            for contrast in STUDY.contrasts:
                gains = self._data.gains(panel, contrast.base)
                for app, size in dict(gains.keys()).items():  # the last size is the largest
                    ratios_by_claim[comparison(panel, app, size, contrast.base)] = gains[app, size]
        return ratios_by_claim

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        """Verdicts, the study's figure, times, findings."""
        verdicts_by_comparison = study_verdicts(verdicts, STUDY.name)
        panels = self._data.panels
        blocks: list[Block] = [Paragraph(_QUESTION)]
        if self._data.refusals:
            blocks += [Heading(3, "Findings"), tables.refusal_table(self._data.refusals)]
        states = {
            buffers: [panel for panel in panels if panel.buffers == buffers]
            for buffers in dict.fromkeys(panel.buffers for panel in panels)
        }
        overheads = {
            buffers: Gallery(
                overhead_caption(self._data.level), draw_overhead(self._data, state_panels)
            )
            for buffers, state_panels in states.items()
        }
        main_state = ORIGINAL if ORIGINAL in states else panels[0].buffers
        picture = overheads.pop(main_state)
        for buffers, state_panels in states.items():
            galleries = [overheads[buffers]] if buffers in overheads else []
            blocks += self._state(buffers, state_panels, galleries, verdicts_by_comparison)
        blocks += [
            Heading(3, "What the study says, and what we find"),
            published.study_table(self._data, states[main_state], verdicts_by_comparison),
            published.application_table(),
            tables.nas_lu_x(self._data, panels, verdicts_by_comparison),
            Heading(3, "How to read the overheads"),
            Items(_READING),
        ]
        return Part(
            anchor="ddtbench",
            title="DDTBench: datatypes or packing by hand?",
            blocks=tuple(blocks),
            answers=(
                overall(
                    [panel for panel in panels if panel.buffers == main_state],
                    verdicts_by_comparison,
                ),
            ),
            panel_answers=tuple(
                panel_answer(panel, verdicts_by_comparison)
                for panel in panels
                if panel.buffers == main_state
            ),
            verdicts=(
                tables.verdict_table(self._data, panels, verdicts_by_comparison, main_state),
            ),
            picture=picture,
        )

    def _state(
        self,
        buffers: str,
        panels: Sequence[Panel],
        overheads: Sequence[Gallery],
        verdicts: Mapping[Comparison, ClaimVerdict],
    ) -> list[Block]:
        data = self._data
        creations = tuple(table for panel in panels if (table := tables.creation(data, panel)))
        return [
            Heading(3, BUFFERS[buffers].capitalize()),
            *overheads,
            *(tables.overheads(data, panel, verdicts) for panel in panels),
            Gallery(time_caption(data.level), draw_time(data, panels)),
            Fold("Every message size", tuple(tables.all_sizes(data, panel) for panel in panels)),
            *([Fold("Making and freeing datatypes", creations)] if creations else []),
        ]


_QUESTION: Text = (
    "Programs send faces of arrays, columns, scattered particles. They may copy them into a buffer "
    "by hand, or describe them to MPI by a datatype and leave the copying to it. DDTBench measures "
    "both, and MPI_Pack, by a ping-pong between two ranks (FFT: all-to-all) for the access "
    "patterns of 16 applications. All methods of a launch are interleaved in random order, and "
    "every element that arrives is checked.",
)
_READING: tuple[Text, ...] = (
    (
        "All times are rank 0's. Rank 1 unpacks what it got and packs its reply before it answers, "
        "so its packing lies inside rank 0's communication. The time of the network is therefore "
        "the round trip by hand minus twice the packing and unpacking of rank 0. If that were "
        "subtracted only once, the packing of rank 1 would count as network.",
    ),
    (
        "Overhead is (round trip - network time) / round trip. It can be negative, and is shown "
        "so. The network time is that of a buffer that was just written and that the reply then "
        "overwrites, which in shared memory moves cache lines between cores. Data that are sent "
        "from one place and received in another may travel faster.",
    ),
    (
        "So there is a second series, which the study did not have. Before every exchange, outside "
        "the timing, both ranks rewrite everything that any method sends and read everything that "
        "any method received, and all methods use the same two buffers. Then no method finds the "
        "cache in a better state than another.",
    ),
    (
        "“Packed by hand” uses the loop nest of the application. Where loops written for speed are "
        "more than 10 % faster, they are another method, “tuned”, which the study does not have.",
    ),
    (
        "As in the study, making and freeing datatypes is not part of the round trip. Other tables "
        "show these times.",
    ),
)
