"""The headline at the top of a report: the main values of each study, as a table and in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Answer, Cell, Column, Table, make_answer, number_columns
from roundtrip.content.data import BundleData
from roundtrip.measure.columns import setting_texts
from roundtrip.report.speeds import LaunchValue, distinct_titles, headline_values, median_quantity
from roundtrip.study import Study
from roundtrip.units import ConfidenceLevel, Quantity

#: Maximum rows and toolchain columns of a headline.
_MAX_ROWS, _MAX_TOOLCHAINS = 14, 4
#: Maximum quantities of a study in the answers.
_MAX_QUANTITIES = 4
#: The suffix of a value of which every launch was disturbed.
_DISTURBED_SUFFIX = " *"
_TEXT_BY_LOWER_IS_BETTER = {True: "lower is better", False: "higher is better"}


class _RowKey(NamedTuple):
    """`label`: whether its values are emulated, simulated or of more ranks than processors."""

    quantity: str
    size_bytes: int | None
    setting: str
    label: str
    unit: str
    lower_is_better: bool


@dataclass(frozen=True)
class Headline:
    """The main values of a study: by row and environment, the median and interval over launches.

    `title_by_environ`: the toolchain of each environment that is shown; `caption_note` says what is
    not shown.  `disturbed_values`: (row, environment) of which every launch was disturbed.
    """

    level: ConfidenceLevel
    title_by_environ: Mapping[str, str]
    quantities_by_row: Mapping[_RowKey, Mapping[str, Quantity]]
    caption_note: str
    disturbed_values: frozenset[tuple[_RowKey, str]]

    @property
    def table(self) -> Table:
        differences = labels.title_differences({row.setting for row in self.quantities_by_row})
        kinds = {row.lower_is_better for row in self.quantities_by_row}
        directions = {kind: _TEXT_BY_LOWER_IS_BETTER[kind] for kind in kinds}
        common = f"; {directions.popitem()[1]}" if len(directions) == 1 else ""
        caption = f"Median over launches, {{level}} rank interval{common}.{self.caption_note}"
        columns = Column("What"), *number_columns(*self.title_by_environ.values())
        rows = []
        for row in self.quantities_by_row:
            direction = directions.get(row.lower_is_better, "")
            name = _row_name(row, differences[row.setting], direction)
            cells = (self._cell(row, environ) for environ in self.title_by_environ)
            rows.append((Cell(name), *cells))
        return Table(self.level.fill_caption(caption), columns, tuple(rows))

    def _cell(self, row_key: _RowKey, environ: str) -> Cell:
        if environ not in self.quantities_by_row[row_key]:
            return Cell(units.NO_VALUE, "muted")
        value = self.quantities_by_row[row_key][environ]
        is_disturbed = (row_key, environ) in self.disturbed_values
        return Cell((value, _DISTURBED_SUFFIX), "warn") if is_disturbed else Cell(value)

    def answers(self, short_title_by_title: Mapping[str, str]) -> Iterator[Answer]:
        """The first quantities, amounts before ratios, each in its first and last setting."""
        differences = labels.title_differences({row.setting for row in self.quantities_by_row})
        own_rows = [
            row for row in self.quantities_by_row if labels.OVERSUBSCRIBED_NOTE not in row.label
        ]
        own_rows.sort(key=lambda row: row.unit in units.UNPRINTED_UNITS)
        for quantity in list(dict.fromkeys(row.quantity for row in own_rows))[:_MAX_QUANTITIES]:
            rows = [row for row in own_rows if row.quantity == quantity]
            first, *_, last = [row for row in rows if row.size_bytes == rows[0].size_bytes] * 2
            if first == last:
                name = _row_name(first, differences[first.setting], "")
                yield make_answer(name, f": {self._values_text(first, short_title_by_title)}.")
            else:
                places = []
                for row in (first, last):
                    where = _setting_and_label_text(row, differences[row.setting])
                    places.append(f"{self._values_text(row, short_title_by_title)} {where}")
                name = _name_with_size(quantity, first.size_bytes)
                yield make_answer(name, f": {'; '.join(places)}.")

    def _values_text(self, row_key: _RowKey, short_title_by_title: Mapping[str, str]) -> str:
        """The values in the order of the table's columns: only a claim says that one is better."""
        texts = []
        for environ, title in self.title_by_environ.items():
            if environ in self.quantities_by_row[row_key]:
                name = f"{short_title_by_title[title]} " if len(self.title_by_environ) > 1 else ""
                texts.append(f"{name}{self.quantities_by_row[row_key][environ].without_interval}")
        return ", ".join(texts)


def study_headline(data: BundleData, study: Study) -> Headline | None:
    """The main values of `study`; None without any.

    Of too many toolchains those best in the first row, then those that only other rows have.
    """
    level = ConfidenceLevel(data.analysis.statistics.confidence_level)
    rows = _values_by_row(data, study)
    if not rows:
        return None
    toolchains = data.study_launches(study.name).select("environ", "toolchain")
    titles = distinct_titles(dict(toolchains.iter_rows()))
    shown_rows = {
        row: {
            environ: median_quantity([value for _, value in values], row.unit, level)
            for environ, values in by_environ.items()
        }
        for row, by_environ in list(rows.items())[:_MAX_ROWS]
    }
    first_row, first_cells = next(iter(shown_rows.items()))
    sign = 1 if first_row.lower_is_better else -1
    ranking = sorted(first_cells, key=lambda name: sign * first_cells[name].value)
    for row_values in shown_rows.values():
        ranking += [environ for environ in row_values if environ not in ranking]
    environs = sorted(ranking[:_MAX_TOOLCHAINS], key=titles.__getitem__)
    counts = (len(shown_rows), len(rows), "value"), (len(environs), len(titles), "toolchain")
    notes = [f"{n} of {units.plural(count, noun)}" for n, count, noun in counts if n < count]
    note = f" Shown: {', '.join(notes)}; the rest is below." if notes else ""
    disturbed = frozenset(
        (row, environ)
        for row in shown_rows
        for environ, values in rows[row].items()
        if environ in environs and all(launch["disturbed"] for launch, _ in values)
    )
    note += " * Every launch was disturbed." if disturbed else ""
    shown_titles = {environ: titles[environ] for environ in environs}
    return Headline(level, shown_titles, shown_rows, note, disturbed)


def headline_answers(headlines: Sequence[Headline]) -> tuple[Answer, ...]:
    """The answers of all `headlines`, with names of toolchains that are as short as possible."""
    titles = {title for headline in headlines for title in headline.title_by_environ.values()}
    short_title_by_title = labels.short_titles(titles)
    return tuple(
        answer for headline in headlines for answer in headline.answers(short_title_by_title)
    )


#: A launch, a row of `BundleData.launches`, and its value.
_ValueOfLaunch = tuple[Mapping[str, Any], LaunchValue]


def _values_by_row(
    data: BundleData, study: Study
) -> dict[_RowKey, dict[str, list[_ValueOfLaunch]]]:
    rows: dict[_RowKey, Any] = defaultdict(lambda: defaultdict(list))
    for launch, point, value in headline_values(data, study):
        setting = _setting_and_label(launch)
        kind = point.unit, point.lower_is_better
        row = _RowKey(point.what, point.size_bytes, *setting, *kind)
        rows[row][launch["environ"]].append((launch, value))
    quantities = list(dict.fromkeys(row.quantity for row in rows))

    def position(item: tuple[_RowKey, object]) -> tuple[object, ...]:
        """Sort key: oversubscribed rows last; a shorter text has a smaller number."""
        row = item[0]
        place = len(row.label), row.label, len(row.setting), row.setting
        is_last = labels.OVERSUBSCRIBED_NOTE in row.label
        return is_last, quantities.index(row.quantity), row.size_bytes or 0, *place

    return dict(sorted(rows.items(), key=position))


def _setting_and_label(launch: Mapping[str, Any]) -> tuple[str, str]:
    """(Parameters and partition, label) of a launch; the first omits what the label says."""
    emulation = [fact["name"] for fact in launch["emulation"] or ()]
    values = [
        f"{name} {text}" if text.isdigit() else labels.TEXT_BY_PLACEMENT.get(text, text)
        for name, text in setting_texts(launch["parameters"]).items()
        if not any(fact.startswith(name) for fact in emulation)
    ]
    note = labels.OVERSUBSCRIBED_NOTE if labels.ON_FEWER_PROCESSORS in values else ""
    partition = f"{launch['system']}:{launch['partition']}"
    label = labels.launch_label(launch["emulation"], launch["simulated"])
    texts = (*(value for value in values if value != labels.ON_FEWER_PROCESSORS), partition)
    return ", ".join(filter(None, texts)), "; ".join(filter(None, (note, label)))


def _row_name(row_key: _RowKey, setting: str, direction: str) -> str:
    name = labels.add_missing_setting(row_key.quantity, setting)
    label = _name_with_size(name, row_key.size_bytes)
    notes = "; ".join(filter(None, (row_key.label, direction)))
    return f"{label} ({notes})" if notes else label


def _name_with_size(name: str, size_bytes: int | None) -> str:
    return name if size_bytes is None else f"{name} at {units.size_text(size_bytes)}"


def _setting_and_label_text(row_key: _RowKey, setting: str) -> str:
    """The words of `setting` that the quantity does not name, and the label."""
    name = labels.add_missing_setting(row_key.quantity, setting)
    setting_text = name.removeprefix(f"{row_key.quantity}, ")
    return f"{setting_text} ({row_key.label})" if row_key.label else setting_text
