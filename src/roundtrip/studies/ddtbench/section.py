"""The DDTBench section: the published comparison of datatypes and packing by hand, repeated.

The answers name the micro-apps for which datatypes are faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from roundtrip import units
from roundtrip.content.blocks import (
    Answer,
    Block,
    CollapsibleBlocks,
    Heading,
    Paragraph,
    ReportSection,
    RichText,
    make_answer,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.ddtbench import (
    BUFFER_STATES,
    MANUAL,
    MANUAL_TUNED,
    MICRO_APPS,
    STUDY,
    tables,
)
from roundtrip.studies.ddtbench.data import DDTBenchData, Panel, overhead_gallery, time_gallery
from roundtrip.studies.ddtbench.tables import ADVICE_BY_VERDICT, AppVerdicts, datatype_claim
from roundtrip.studies.findings import (
    SubjectVerdict,
    arm_claim_verdicts,
    describe_joint_verdict,
    describe_undecided,
)
from roundtrip.study import Claim


def overall_answers(panels: Sequence[Panel], verdicts: AppVerdicts) -> tuple[Answer, ...]:
    """The advice for each micro-app, over all panels: one answer for each different advice."""
    outcomes: dict[str, list[SubjectVerdict]] = {}
    ratios: dict[str, list[float]] = {}
    for panel in panels:
        mpi, where = (
            panel.toolchain.partition(", ")[0],
            (panel.placement_text, panel.emulation_label),
        )
        for app, verdict in _app_verdicts(panel, verdicts).items():
            outcomes.setdefault(app, []).append(SubjectVerdict(mpi, where, verdict.verdict))
            ratios.setdefault(app, []).append(verdict.interval.median)
    if not outcomes:
        return (Answer(("Datatypes and packing by hand were not compared.",), "warn"),)
    groups: dict[str, list[str]] = {words: [] for words in ADVICE_BY_VERDICT.values()}
    for app in MICRO_APPS:
        if app in outcomes:
            words = describe_joint_verdict(outcomes[app], ADVICE_BY_VERDICT, "MPI")
            groups.setdefault(words, []).append(app)
    clauses = _advice_clauses(groups, ratios)
    return tuple(Answer((f"{clause[0].upper()}{clause[1:]}.",)) for clause in clauses)


#: A group of more micro-apps than this has one range of gains for all of them.
_MAX_APPS_WITH_OWN_RANGE = 6


def _advice_clauses(
    groups: Mapping[str, Sequence[str]], ratios: Mapping[str, Sequence[float]]
) -> list[str]:
    """``use datatypes for NAS_LU_x (3.4 times as fast)``, ...: large groups come last."""
    pairs = [(words, apps) for words, apps in groups.items() if apps]
    pairs.sort(key=lambda pair: len(pair[1]) > _MAX_APPS_WITH_OWN_RANGE)
    clauses = []
    for words, apps in pairs:
        names = ", ".join(f"{app}{_gain_text(words, ratios[app])}" for app in apps)
        if len(apps) > _MAX_APPS_WITH_OWN_RANGE:
            apps_text = ", ".join(apps) if len(pairs) > 1 else f"all {len(apps)}"
            names = apps_text + _gain_text(words, [ratio for app in apps for ratio in ratios[app]])
        clauses.append(f"{words} for {names}")
    return clauses


def _gain_text(advice: str, ratios: Sequence[float]) -> str:
    """`` (3.4 to 3.5 times as fast)``: the range of ratios; "" if the advice is no difference."""
    if advice == ADVICE_BY_VERDICT[Verdict.ON_PAR]:
        return ""
    speed = units.speed_ratio_text(min(ratios), max(ratios))
    return f" ({speed}{' with datatypes' if speed.endswith('slower') else ''})"


def panel_answer(panel: Panel, verdicts: AppVerdicts) -> Answer:
    """The advice for each micro-app in one panel; if it is open, the range of the gain."""
    app_verdicts = _app_verdicts(panel, verdicts)
    groups: dict[Verdict, list[str]] = {verdict: [] for verdict in ADVICE_BY_VERDICT}
    for app in MICRO_APPS:
        if app in app_verdicts:
            groups[app_verdicts[app].verdict].append(app)
    open_apps = groups.pop(Verdict.CANNOT_TELL)
    clauses = [
        f"{ADVICE_BY_VERDICT[verdict]} for {', '.join(apps)}"
        for verdict, apps in groups.items()
        if apps
    ]
    clauses += [f"{app}: {describe_undecided([app_verdicts[app]])}" for app in open_apps]
    tuned_apps = [
        app
        for app, verdict in _app_verdicts(panel, verdicts, MANUAL_TUNED).items()
        if verdict.verdict is Verdict.SLOWER and app_verdicts[app].verdict is not Verdict.SLOWER
    ]
    if tuned_apps:
        names = ", ".join(tuned_apps)
        clauses.append(f"but loops tuned by hand are faster than datatypes for {names}")
    if clauses and (missing_apps := [app for app in MICRO_APPS if app not in app_verdicts]):
        clauses.append(f"not compared: {', '.join(missing_apps)}")
    return make_answer(panel.title, f": {'; '.join(clauses) or 'nothing was compared'}.")


def _app_verdicts(
    panel: Panel, verdicts: AppVerdicts, base: str = MANUAL
) -> dict[str, ClaimVerdict]:
    """The verdict on datatypes against packing by hand, by micro-app."""
    return {
        key.case: verdict
        for key, verdict in verdicts.items()
        if (key.panel, key.contrast.base) == (panel.key, base)
    }


class Section:
    """Packing overhead of 16 micro-apps, and whether to use datatypes."""

    def __init__(self, data: BundleData) -> None:
        self._data = DDTBenchData(data)

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        return {
            datatype_claim(panel, app, size, contrast.base): ratios
            for panel in self._data.panels
            for contrast in STUDY.contrasts_of()
            for (app, size), ratios in self._data.datatype_gains(panel, contrast.base).items()
        }

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        data = self._data
        ddt_verdicts = arm_claim_verdicts(verdicts, STUDY)
        groups = groupby(data.panels, key=lambda panel: panel.buffer_state)
        states = [list(panels) for _, panels in groups]
        main_panels = states[0]
        galleries = [overhead_gallery(data, panels) for panels in states]
        blocks: list[Block] = [Paragraph(_QUESTION_TEXT)]
        if len(data.refused_calls):
            blocks += [Heading(3, "Findings"), tables.refused_call_table(data.refused_calls)]
        for panels, gallery in zip(states, galleries, strict=True):
            sizes = tuple(tables.all_sizes_table(data, panel) for panel in panels)
            tables_of_panels = (tables.creation_table(data, panel) for panel in panels)
            creations = tuple(filter(None, tables_of_panels))
            blocks += [
                Heading(3, BUFFER_STATES[panels[0].buffer_state].capitalize()),
                *([] if panels is main_panels else [gallery]),  # which is the picture of the part
                *(tables.overhead_table(data, panel, ddt_verdicts) for panel in panels),
                time_gallery(data, panels),
                CollapsibleBlocks("Every message size", sizes),
                *(
                    [CollapsibleBlocks("Making and freeing datatypes", creations)]
                    if creations
                    else []
                ),
            ]
        blocks += [
            Heading(3, "What the study says, and what we find"),
            tables.statement_table(data, main_panels, ddt_verdicts),
            tables.application_table(),
            tables.nas_lu_x_table(data, data.panels, ddt_verdicts),
            Heading(3, "How to read the overheads"),
            text_items(*_READING_NOTES),
        ]
        return ReportSection(
            anchor="ddtbench",
            title="DDTBench: datatypes or packing by hand?",
            blocks=tuple(blocks),
            answers=overall_answers(main_panels, ddt_verdicts),
            panel_answers=tuple(panel_answer(panel, ddt_verdicts) for panel in main_panels),
            verdict_tables=(tables.verdict_table(data, main_panels, ddt_verdicts),),
            answer_gallery=galleries[0],
        )


_QUESTION_TEXT: RichText = (
    "Programs send faces of arrays, columns, scattered particles. They copy these into a buffer "
    "by hand, or describe them by a datatype and let MPI copy. DDTBench measures both, and "
    "MPI_Pack, by a ping-pong between two ranks (FFT: all-to-all) for the access patterns of 16 "
    "applications. All methods of a launch are interleaved in random order, and every element "
    "that arrives is checked.",
)
_READING_NOTES = (
    "All times are rank 0's. Rank 1 unpacks the message and packs its reply before it answers, "
    "so rank 0's communication includes rank 1's packing. The network time is therefore the "
    "round trip by hand minus twice the packing and unpacking of rank 0. Subtracted once, the "
    "packing of rank 1 would count as network.",
    "Overhead is (round trip - network time) / round trip. It can be negative. The network time "
    "is measured with a buffer that was just written and that the reply overwrites; in shared "
    "memory this moves cache lines between cores. Data sent from one buffer and received in "
    "another may be faster.",
    "So there is a second series, which the study lacks. Before every exchange, outside the "
    "timing, both ranks rewrite all data that any method sends and read all data that any method "
    "received. All methods use the same two buffers. So every method starts with the same cache "
    "state.",
    "“Packed by hand” uses the loop nest of the application. Loops written for speed that are "
    "more than 10 % faster are another method, “tuned”, which the study lacks.",
    "As in the study, making and freeing datatypes is not part of the round trip. Other tables "
    "show these times.",
)
