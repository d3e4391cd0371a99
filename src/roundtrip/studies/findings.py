"""Claims on arms within launches, findings on published statements, and sentences on verdicts.

``Boost.MPI costs 12 % at 1 B; on par elsewhere (medians within 1 %).`` Such a sentence says no more
than the verdicts: it lists each comparison under its own verdict, including undecided comparisons
and those that were not measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Generic, TypeVar

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Cell, StatusColour
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict
from roundtrip.studies import display
from roundtrip.studies.derivation import at_compared_sizes, ratios_by_size
from roundtrip.studies.panel import Panel, Panels, PanelT
from roundtrip.study import Claim, Contrast, Study

#: The outcome of a statement that the data neither support nor contradict.
OPEN = str(Verdict.CANNOT_TELL)
#: In ascending severity: an open result outranks a settled one, a bad one outranks both.
_COLOURS_BY_SEVERITY: tuple[StatusColour, ...] = ("good", "plain", "warn", "bad")
#: Pairs (size in bytes, verdict).
SizeVerdicts = tuple[tuple[int, ClaimVerdict], ...]
#: Maximum panels that a sentence names.
_MAX_NAMED_PANELS = 3
#: Maximum names in the finding on a statement of a study.
_MAX_LISTED_NAMES = 8
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def coverage_suffix(measured_sizes: Collection[int], compared_sizes: Sequence[int]) -> str:
    """Text with the measured sizes [bytes]; "" if all compared sizes were measured, or none.

    `` where measured (1 B to 64 KiB)``; the sizes are listed if the range has gaps.
    """
    sizes = [size for size in sorted(compared_sizes) if size in measured_sizes]
    if not sizes or len(sizes) == len(compared_sizes):
        return ""
    return f" where measured ({describe_sizes(sizes, sorted(compared_sizes), 2)})"


@dataclass(frozen=True)
class ArmClaim:
    """A claim of the report: a contrast of arms of the same launches at one size.

    `panel` is the key of a `Panel`.  `case` tells several cases of samples in one panel apart: it
    comes before the last value of the key.
    """

    study: str
    panel: tuple[str, ...]
    contrast: Contrast
    size_bytes: int
    case: str = ""

    @property
    def family(self) -> Family:
        return self.contrast.family("/".join(filter(None, (self.case, self.panel[-1]))))


def arm_claim(study: Study, panel: Panel, arm: str, base: str, size_bytes: int) -> ArmClaim:
    """The claim on `arm` over `base` in a panel; KeyError if `study` declares no such contrast."""
    return ArmClaim(study.name, panel.key, study.contrast(arm, base), size_bytes)


def ratios_by_arm_claim(
    study: Study,
    panels: Panels[PanelT],
    sizes: Sequence[int],
    time_column: str = "seconds",
    metric: str = "",
) -> dict[Claim, Sequence[float]]:
    """Ratios within launches, for each panel and contrast of a metric, by default the first.

    They are formed at `sizes` [bytes], or at the largest message if these are empty.
    `panels.launch_values` has the columns launch, case_id, case, variant, size_bytes and
    `time_column`.
    """
    ratios_by_claim: dict[Claim, Sequence[float]] = {}
    values = at_compared_sizes(panels.launch_values, sizes, list(panels.key_columns))
    for panel in panels.panels:
        rows = panels.panel_rows(values, panel)
        for contrast in study.contrasts_of(metric):
            by_size = ratios_by_size(rows, contrast.arm, contrast.base, time_column)
            for size, ratios in by_size.items():
                ratios_by_claim[ArmClaim(study.name, panel.key, contrast, size)] = ratios
    return ratios_by_claim


def arm_claim_verdicts(
    verdicts: Mapping[Claim, ClaimVerdict], study: Study, metric: str = ""
) -> dict[ArmClaim, ClaimVerdict]:
    """Verdicts on the claims on arms, of one metric of a study, by default of its first."""
    contrasts = study.contrasts_of(metric)
    return {
        key: verdict
        for key, verdict in verdicts.items()
        if isinstance(key, ArmClaim) and key.study == study.name and key.contrast in contrasts
    }


StatementT = TypeVar("StatementT")


@dataclass(frozen=True, kw_only=True)
class Finding(Generic[StatementT, PanelT]):
    """The result of the test of `statement` in one panel.

    `outcome` is a word or two.  `is_about_all_sizes`: the outcome is about all `compared_sizes`
    (bytes); `size_verdicts` has the sizes that were measured.
    """

    statement: StatementT
    panel: PanelT
    outcome: str
    outcome_colour: StatusColour
    is_about_all_sizes: bool
    size_verdicts: SizeVerdicts
    compared_sizes: tuple[int, ...]

    @property
    def ratios(self) -> list[float]:
        """Median ratios at the sizes that were measured."""
        return [verdict.interval.median for _, verdict in self.size_verdicts]

    @property
    def coverage_suffix(self) -> str:
        """`` where measured (1 B to 64 KiB)``; "" if all compared sizes were measured, or none."""
        return coverage_suffix(dict(self.size_verdicts), self.compared_sizes)

    @property
    def verdict(self) -> str:
        """The outcome and where it was measured; if it is open, the undecided intervals."""
        if self.outcome != OPEN:
            return self.outcome + (self.coverage_suffix if self.is_about_all_sizes else "")
        undecided = {
            size: verdict
            for size, verdict in self.size_verdicts
            if verdict.verdict is Verdict.CANNOT_TELL and verdict.interval.exists
        }
        if not undecided:
            return f"{OPEN}{missing_launches_suffix(verdict for _, verdict in self.size_verdicts)}"
        sizes = describe_sizes(sorted(undecided), sorted(self.compared_sizes))
        where_suffix = f" at {sizes}" if len(undecided) < len(self.size_verdicts) else ""
        return describe_undecided(list(undecided.values()), where_suffix)

    @property
    def status_colour(self) -> StatusColour:
        """The colour of the verdict; "warn" if it is about all sizes and some were not measured."""
        return "warn" if self.is_about_all_sizes and self.coverage_suffix else self.outcome_colour

    @property
    def verdict_cell(self) -> Cell:
        """The smallest and the largest ratio, and the verdict."""
        return display.ratio_range_cell(self.ratios, self.status_colour, self.verdict)


def size_verdicts(
    verdicts: Mapping[ArmClaim, ClaimVerdict],
    study: Study,
    panel: Panel,
    pair: tuple[str, str],
    sizes: Sequence[int],
) -> SizeVerdicts:
    """(size in bytes, verdict) of each claim on the `pair` (arm, base) that has a verdict."""
    keys = {size: arm_claim(study, panel, *pair, size) for size in sizes}
    return tuple((size, verdicts[key]) for size, key in keys.items() if key in verdicts)


def worst_colour(status_colours: Iterable[StatusColour]) -> StatusColour:
    """The most severe of `status_colours`; "warn" without any."""
    return max(status_colours, key=_COLOURS_BY_SEVERITY.index, default="warn")


@dataclass(frozen=True)
class PointVerdict:
    """The verdict at `size` (bytes) in the panel with that title; None if it was not measured."""

    panel_title: str
    size: int
    verdict: ClaimVerdict | None


def cost_sentence_colour(points: Iterable[PointVerdict]) -> StatusColour:
    """The most severe colour of the verdicts in a `cost_sentence`; "warn" if one is missing."""
    return worst_colour(p.verdict.verdict.colour if p.verdict else "warn" for p in points)


def cost_sentence(
    subject: str, base: str, points: Sequence[PointVerdict], *, names_sizes: bool = False
) -> str:
    """A sentence, without its full stop, on the cost of `subject` over `base`, which its first
    clause names.

    `points` has every size and panel to be compared, measured or not, or is empty.  `names_sizes`:
    also where a verdict holds at all of them.
    """
    names = labels.short_titles({point.panel_title for point in points})
    points = [replace(point, panel_title=names[point.panel_title]) for point in points]
    groups: dict[Verdict | None, list[PointVerdict]] = {}
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.CANNOT_TELL, Verdict.ON_PAR, None):
        if group := [p for p in points if (p.verdict and p.verdict.verdict) is verdict]:
            groups[verdict] = group
    if not groups.keys() - {None}:
        return f"{subject} was not compared with {base}"
    clauses: list[str] = []
    for number, (verdict, group) in enumerate(groups.items()):
        is_last = number == len(groups) - 1
        is_rest = is_last and number > 0 and verdict is Verdict.ON_PAR
        where_suffix = " elsewhere" if is_rest else _where_suffix(group, points, names_sizes)
        name = "" if clauses else subject
        clauses.append(_verdict_clause(name, base, verdict, group, where_suffix))
    return "; ".join(clauses)


def _verdict_clause(
    subject: str,
    base: str,
    verdict: Verdict | None,
    points: Sequence[PointVerdict],
    where_suffix: str,
) -> str:
    medians = [point.verdict.interval.median for point in points if point.verdict]
    if verdict is Verdict.SLOWER:
        times = [1 / ratio for ratio in medians]
        shares = units.range_text([time - 1 for time in times], 100, 2)
        cost = f"costs {shares}{_NO_BREAK_SPACE}% over {base}"
        if min(medians) < display.MAX_RATIO_AS_FACTOR:
            cost = f"is {units.range_text(times, digits=2)} times slower than {base}"
        return f"{subject} {cost}{where_suffix}"  # of the clauses it is the first
    if verdict is Verdict.FASTER:
        gains = units.speed_ratio_text(min(medians), max(medians))
        than = "as" if gains.endswith("as fast") else "than"
        return (
            f"{subject} is {gains} {than} {base}{where_suffix}"
            if subject
            else f"{gains}{where_suffix}"
        )
    if verdict is Verdict.ON_PAR:
        distance = max(max(ratio, 1 / ratio) - 1 for ratio in medians)
        # Rounded up to whole percents, so that the text does not understate it.
        margin = units.percent_text(max(0.01, -(-round(distance * 1e4) // 100) / 100))
        par = f"is on par with {base}" if subject else "on par"
        return f"{subject} {par}{where_suffix} (medians within {margin})".strip()
    if verdict is Verdict.CANNOT_TELL:
        verdicts = [point.verdict for point in points if point.verdict]
        words = describe_undecided(verdicts, where_suffix, says_level=True)
        return f"{subject} against {base}: {words}" if subject else words
    return f"not measured{where_suffix}"


def describe_undecided(
    verdicts: Sequence[ClaimVerdict],
    where_suffix: str = "",
    launches_clause: str | None = None,
    *,
    says_level: bool = False,
) -> str:
    """The range of the intervals of undecided claims, and how many more launches they need.

    ``2 to 6 % faster at 1 MiB (open whether 5 % or more: about 11 more launches)``.
    `launches_clause` replaces the last clause.  `says_level`: name the level of the interval.
    """
    if launches_clause is None:
        launches_clause = missing_launches_suffix(verdicts)
    intervals = [verdict.interval for verdict in verdicts]
    if not all(interval.exists for interval in intervals):
        return f"{OPEN}{where_suffix}{launches_clause}"
    low = min(interval.low or 0.0 for interval in intervals)
    high = max(interval.high or 0.0 for interval in intervals)
    least = units.percent_text(verdicts[0].minimum_effect)
    question = "" if low < 1 < high else f" whether {least} or more"
    level = intervals[0].level if says_level else None
    prefix = f"{units.percent_text(level)} interval; " if level else ""
    speed_text = units.speed_ratio_text(low, high)
    return f"{speed_text}{where_suffix} ({prefix}open{question}{launches_clause})"


@dataclass(frozen=True)
class SubjectVerdict:
    """The verdict on one question for a subject, such as an MPI or a transport, in a setting."""

    subject: Hashable
    setting: Hashable
    verdict: Verdict


def describe_joint_verdict(
    subject_verdicts: Sequence[SubjectVerdict],
    text_by_verdict: Mapping[Verdict, str],
    subject_name: str,
) -> str:
    """The common text of the verdicts on one question, from `text_by_verdict`.

    Of undecided ones it says only that there are some.  ``it depends on the MPI`` (`subject_name`)
    if two subjects have different verdicts in one setting.
    """
    decided = [one for one in subject_verdicts if one.verdict is not Verdict.CANNOT_TELL]
    verdicts = {one.verdict for one in decided}
    if not verdicts:
        return text_by_verdict[Verdict.CANNOT_TELL]
    if len(verdicts) == 1:
        suffix = " where decided" if len(decided) < len(subject_verdicts) else ""
        return f"{text_by_verdict[verdicts.pop()]}{suffix}"
    pairs = [pair for pair in combinations(decided, 2) if pair[0].verdict != pair[1].verdict]
    if any(one.setting == other.setting and one.subject != other.subject for one, other in pairs):
        return f"it depends on the {subject_name}"
    if any(one.setting != other.setting and one.subject == other.subject for one, other in pairs):
        return "it depends on where"
    return "it differs from case to case"


def missing_launches_suffix(verdicts: Iterable[ClaimVerdict]) -> str:
    """``: about 11 more launches``, the most that a verdict is known to need; "" if unknown."""
    needs = [need for verdict in verdicts if (need := verdict.missing_launches) is not None]
    return f": about {units.plural(max(needs), 'more launch')}" if needs else ""


def _where_suffix(
    points: Sequence[PointVerdict], all_points: Sequence[PointVerdict], names_sizes: bool
) -> str:
    """`` at 1 B on MPICH 4.0``: where a verdict holds.

    Omitted are all panels, and all sizes unless `names_sizes`.  If sizes differ between many
    panels, comparisons are counted, to keep the line short.
    """
    by_panel, all_by_panel = _sizes_by_panel(points), _sizes_by_panel(all_points)
    all_sizes = sorted({point.size for point in all_points})
    panels = list(by_panel)
    if len(set(map(tuple, by_panel.values()))) == 1:
        is_all = all(sizes == all_by_panel[name] for name, sizes in by_panel.items())
        is_omitted = is_all and not (names_sizes and any(all_sizes))
        at = "" if is_omitted else f" at {describe_sizes(by_panel[panels[0]], all_sizes)}"
        if len(panels) == len(all_by_panel):
            return at
        names = (
            "; ".join(panels) if len(panels) <= _MAX_NAMED_PANELS else f"{len(panels)} toolchains"
        )
        return f"{at} on {names}"
    if len(panels) <= _MAX_NAMED_PANELS:
        clauses = (
            f" at {describe_sizes(sizes, all_sizes)} on {name}" for name, sizes in by_panel.items()
        )
        return " and".join(clauses)
    return f" in {len(points)} of {len(all_points)} comparisons"


def _sizes_by_panel(points: Sequence[PointVerdict]) -> dict[str, list[int]]:
    by_panel: dict[str, list[int]] = defaultdict(list)
    for point in points:
        by_panel[point.panel_title].append(point.size)
    return {name: sorted(sizes) for name, sizes in by_panel.items()}


def names_or_count(names: Sequence[str], count: int) -> str:
    """The names if they are few; otherwise their number of `count`: ``7 of 16``."""
    unique_names = dict.fromkeys(names)
    is_few = len(unique_names) <= _MAX_LISTED_NAMES
    return ", ".join(unique_names) if is_few else f"{len(names)} of {count}"


def describe_outcomes(names: Sequence[str], outcomes: Sequence[str], preposition: str) -> str:
    """The common outcome, or ``agrees on MPICH 4.0; differs on Open MPI 4.1`` by name."""
    names_by_outcome: dict[str, list[str]] = defaultdict(list)
    for name, outcome in zip(names, outcomes, strict=True):
        names_by_outcome[outcome].append(name)
    if len(names_by_outcome) == 1:
        return outcomes[0]
    return "; ".join(
        f"{outcome} {preposition} {names_or_count(group, len(names))}"
        for outcome, group in names_by_outcome.items()
    )


def describe_sizes(sizes: list[int], all_sizes: list[int], range_length: int = 3) -> str:
    """``1 B to 64 KiB``; sizes [bytes] with gaps, or fewer than `range_length`, are listed."""
    first = all_sizes.index(sizes[0])
    if len(sizes) >= range_length and all_sizes[first : first + len(sizes)] == sizes:
        return f"{units.size_text(sizes[0])} to {units.size_text(sizes[-1])}"
    return ", ".join(map(units.size_text, sizes))
