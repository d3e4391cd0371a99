"""Annotations of nights by people: a list in ``site-configs/<site>/annotations.yaml``."""

from __future__ import annotations

import datetime
import json
import operator
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr
from pydantic_core import PydanticCustomError

from roundtrip import files, paths, tables
from roundtrip.errors import UserError, report_write_errors
from roundtrip.history import night_rows
from roundtrip.measure import disclosure
from roundtrip.model import StrictRecord
from roundtrip.tables import SourceLine

FILE_NAME = "annotations.yaml"
#: The kind of annotation that makes the level of a series its baseline.
ACCEPTED_KIND = "accepted"
_MAX_TEXT_LENGTH = 500
_PRINTABLE_PATTERN = r"^[^\x00-\x1f\x7f]+$"


def _night_format(value: Any) -> str:
    """Convert to a date or a UTC time to the second, in the format of the nights of a history."""
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
        return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise PydanticCustomError(
        "moment", "right is a date such as 2026-11-03, or a time such as 2026-11-03T01:00:00Z"
    )


NightTime = Annotated[str, BeforeValidator(_night_format)]
Text = Annotated[str, Field(min_length=1, max_length=_MAX_TEXT_LENGTH, pattern=_PRINTABLE_PATTERN)]
#: A text that is published.
PublishedText = Annotated[Text, AfterValidator(disclosure.withhold_private)]


class Annotation(StrictRecord):
    """One annotation; without `leave_out`, it is only a remark on its first night."""

    start: NightTime = Field(
        alias="from", description="a UTC date, or a time such as `2026-11-03T01:00:00Z`"
    )
    to: NightTime | None = Field(
        None, description="the last day or second that it covers; that of `from` by default"
    )
    text: PublishedText = Field(description="what happened; it is published")
    series: Text = Field(
        "*",
        description="which series: a pattern (glob) of their cases; with `accepted`, also of "
        "their names",
    )
    leave_out: bool = Field(False, description="these nights take no part in detection")
    kind: Literal["change", "maintenance", "incident", "note", "accepted"] = Field(
        "note", description="`accepted`: the level is the baseline from then on"
    )

    renamed_to: Text | None = Field(
        None,
        description="what these cases are called from then on: earlier nights count for the new "
        "name; a `*` stands for what that of `series` in its place matches",
    )
    _renamed_to_line: SourceLine | None = PrivateAttr(None)

    @property
    def last(self) -> str:
        return self.to or self.start

    def new_name(self, case: str) -> str:
        """What a case is called after a renaming; `case` itself if it was not renamed."""
        return _fill_stars(case, self.series, self.renamed_to) if self.renamed_to else case

    def old_name(self, case: str) -> str:
        """What a case was called before a renaming; `case` itself if it was not renamed."""
        return _fill_stars(case, self.renamed_to, self.series) if self.renamed_to else case

    def renames(self, night: str) -> bool:
        """Whether it renames cases of `night`, the start of a run."""
        return self.renamed_to is not None and night[: len(self.start)] < self.start

    def renames_nothing(self, example: str) -> str:
        """The warning that no case has the old name, with a case as an `example`."""
        reason = f"no night before {self.start} has a case {self.series!r}: right is a pattern of "
        reason += f"what these cases were called, such as {example!r}"
        return str(UserError(reason, *(self._renamed_to_line or ())))

    def accepts(self, *names: str) -> bool:
        """Whether it accepts the level of a series that has one of these names."""
        return self.kind == ACCEPTED_KIND and any(fnmatchcase(name, self.series) for name in names)

    def leaves_out(self, night: str) -> bool:
        """Whether it leaves series of `night`, the start of a run, out of detection."""
        starts, ends = self.start <= night[: len(self.start)], night[: len(self.last)] <= self.last
        return self.leave_out and starts and ends

    @property
    def words(self) -> str:
        """The text, after the kind of the annotation unless that is `note`."""
        return self.text if self.kind == "note" else f"{self.kind}: {self.text}"


def _fill_stars(name: str, pattern: str, target: str) -> str:
    """`target` with what each * of `pattern` matches in `name`; `name` if it does not match."""
    match = re.fullmatch("(.*)".join(map(re.escape, pattern.split("*"))), name)
    first, *rest = target.split("*")
    return first + "".join(map(operator.add, match.groups(), rest)) if match else name


def accepted_levels(levels: pl.DataFrame) -> list[Annotation]:
    """The annotations that a bundle contains; `levels` has the columns `ACCEPTANCES`."""
    return [
        Annotation.model_construct(start=until, series=series, text=text, kind=ACCEPTED_KIND)
        for until, series, text in levels.select("until", "series", "text").iter_rows()
    ]


def left_out_annotations(rows: pl.DataFrame, night: str) -> list[Annotation]:
    """The annotations that leave out series of the bundle of `night`; columns `LEFT_OUT`."""
    return [
        Annotation.model_construct(start=night, series=series, text=text, leave_out=True)
        for series, text in rows.select("series", "text").iter_rows()
    ]


class _AnnotationFile(StrictRecord):
    annotations: Annotated[tuple[Annotation, ...], Field(strict=False)]


def load(file: Path) -> tuple[Annotation, ...]:
    """The annotations in `file`, none without it; UserError, with the line, for an invalid one."""
    if not file.exists():
        return ()
    content, key_lines = tables.load_yaml_with_lines(file)
    if content is None:
        return ()
    if not isinstance(content, list):
        raise UserError("right is a list of annotations, each beginning with '- from:'", file, 1)
    table_lines = {("annotations", *path): source_line for path, source_line in key_lines.items()}
    annotations = tables.validate_table(
        {"annotations": content}, _AnnotationFile, table_lines, file
    ).annotations
    for index, annotation in enumerate(annotations):
        start, last = annotation.start, annotation.last
        if last[: len(start)] < start[: len(last)]:
            raise UserError("'to' is before 'from'", *key_lines[(index, "to")])
        new_name = annotation.renamed_to
        annotation._renamed_to_line = key_lines.get((index, "renamed_to"))
        if new_name is not None and new_name.count("*") != annotation.series.count("*"):
            reason = f"'renamed_to' has not as many * as 'series', {annotation.series!r}"
            raise UserError(reason, *key_lines[(index, "renamed_to")])
    return annotations


def load_site_annotations(site: str) -> tuple[Annotation, ...]:
    """The annotations of a site of this checkout, none outside one; UserError as `load`."""
    try:
        checkout = paths.checkout()
    except UserError:
        return ()
    return load(checkout / "site-configs" / site / FILE_NAME)


def append_acceptances(site: str, globs: Sequence[str], night: str, reason: str) -> Path:
    """Append one annotation per glob to the site's file: levels up to `night` are accepted.

    UserError if there is no checkout with this site, or the reason is not one line of text.
    """
    folder = paths.checkout() / "site-configs" / site
    if not folder.is_dir():
        raise UserError(
            f"site-configs/{site}/ is where annotations are kept: there is none", folder
        )
    if not re.fullmatch(_PRINTABLE_PATTERN, reason) or len(reason) > _MAX_TEXT_LENGTH:
        raise UserError(f"--reason: right is one line of 1 to {_MAX_TEXT_LENGTH} characters")
    file = folder / FILE_NAME
    load(file)
    content = file.read_text(encoding="utf-8") if file.exists() else ""
    if content and not content.endswith("\n"):
        content += "\n"
    for glob in globs:
        # JSON is YAML.
        series, text = (json.dumps(value, ensure_ascii=False) for value in (glob, reason))
        content += f"- from: {night}\n  kind: {ACCEPTED_KIND}\n  series: {series}\n  text: {text}\n"
    with report_write_errors(folder):
        files.replace_file(file, content.encode())
    return file


def set_left_out(nights: pl.DataFrame, annotations: Sequence[Annotation]) -> pl.DataFrame:
    """`nights` with `left_out` set where an annotation leaves a row out.

    `nights` has the columns night, case_id and left_out.  Rows that are left out already
    keep their reason; the first of two annotations counts.
    """
    cases, starts = (nights[name].unique().to_list() for name in ("case_id", "night"))
    reason = pl.col("left_out")
    for annotation in annotations:
        matches = [case for case in cases if fnmatchcase(case, annotation.series)]
        is_match = pl.col("case_id").is_in(matches) & pl.col("night").is_in(
            [night for night in starts if annotation.leaves_out(night)]
        )
        reason = pl.when((reason == "") & is_match).then(pl.lit(annotation.words)).otherwise(reason)
    return nights.with_columns(reason.alias("left_out"))


#: What a series is but for its unit, and the columns in this unit.
_SERIES_KEYS = [name for name in night_rows.SERIES if name != "unit"]
_MEDIAN_COLUMNS = ("median", "low", "high")


def rename_cases(
    nights: pl.DataFrame, annotations: Sequence[Annotation]
) -> tuple[pl.DataFrame, list[Annotation]]:
    """`nights`, columns `NIGHTS`, with the names that annotations give to the cases of before; and
    the annotations that rename none.

    The oldest renaming counts first, so that names may change again.  A night that has the new
    name, too, keeps the rows of that name.
    """
    without_effect = []
    renamings = filter(operator.attrgetter("renamed_to"), annotations)
    for annotation in sorted(renamings, key=operator.attrgetter("start")):
        names = {case: annotation.new_name(case) for case in nights["case_id"].unique()}
        old_names = [case for case, new_name in names.items() if new_name != case]
        is_before = pl.col("night").is_in([*filter(annotation.renames, nights["night"].unique())])
        is_old = is_before & pl.col("case_id").is_in(old_names)
        if nights.filter(is_old).is_empty():
            without_effect.append(annotation)
            continue
        case_id = pl.col("case_id").replace(names)
        # Imports have the name of the check as `case`.
        check, new_check = (
            name.str.split("/").list.first() for name in (pl.col("case_id"), case_id)
        )
        nights = nights.with_columns(
            is_old=is_old,
            case_id=pl.when(is_old).then(case_id).otherwise("case_id"),
            case=pl.when(is_old & (pl.col("case") == check)).then(new_check).otherwise("case"),
        )
        nights = night_rows.in_newest_unit(nights, _SERIES_KEYS, "night", _MEDIAN_COLUMNS)
        nights = (
            nights.filter(
                ~pl.col("is_old") | pl.col("is_old").all().over("night", *night_rows.SERIES)
            )
            .unique(["night", *night_rows.SERIES, "nodes"], keep="first", maintain_order=True)
            .drop("is_old")
        )
    return nights, without_effect


def notes_on_nights(
    nights: Sequence[str], annotations: Sequence[Annotation]
) -> list[tuple[str, str]]:
    """The notes on nights: (night, text), in the order of the nights.

    Each at its first night; one without `to` on a day without a night, at the next.  Those that
    ended before the first of all nights are dropped.
    """
    sorted_nights, night_notes = sorted(nights), []
    for annotation in annotations:
        start, last = annotation.start, annotation.last
        first = next((night for night in sorted_nights if night[: len(start)] >= start), None)
        is_between = annotation.to is None and first not in sorted_nights[:1]
        if first and (is_between or first[: len(last)] <= last):
            night_notes.append((first, annotation.words))
    return sorted(dict.fromkeys(night_notes), key=lambda note: note[0])
