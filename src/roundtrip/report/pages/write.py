"""Write the derived pages of a folder of published reports; they can be rewritten at any time.

A file beside each history page records what the page was made from, so that an unchanged page is
not made again; if in doubt, both are made anew.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict

from roundtrip import files, paths
from roundtrip.cause import page
from roundtrip.content import data, labels
from roundtrip.content.blocks import StrongText
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.history import annotations as remarks
from roundtrip.history import detection, ledger, published
from roundtrip.history.annotations import Annotation
from roundtrip.history.night_rows import SERIES
from roundtrip.measure import analysis, pseudonyms, reader, store
from roundtrip.report import confirmation, renderers
from roundtrip.report.pages import chart, history, machines
from roundtrip.report.pages.history import HistoryPage
from roundtrip.stats.nights.verdicts import Verdict
from roundtrip.stats.summaries import GEOMETRIC_MEAN

INDEX, HISTORY = "index.html", "history.html"
_INDEX_LINK = "../../index.html"
HISTORY_SUMMARY_FILE = ".pages.json"


@dataclass(frozen=True)
class CampaignSite:
    """`nights`, newest first: the name of a night and the links to its revisions, oldest first."""

    campaign: str
    site: str
    nights: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def relative_path(self) -> str:
        return f"{self.campaign}/{self.site}"


def read_campaign_sites(reports: Path) -> Iterator[CampaignSite]:
    """Every campaign and site with published or imported nights, sorted by name."""
    for site in store.site_folders(reports):
        nights = []
        for folder in reversed(store.night_folders(site)):
            links = filter(None, (store.page_link(path, site) for path in store.revisions(folder)))
            if revisions := tuple(links):
                nights.append((folder.name, revisions))
        if nights or store.import_folders(site):
            _, campaign, name = store.split_site_folder(site)
            yield CampaignSite(campaign, name, tuple(nights))


@dataclass(frozen=True)
class HistorySource:
    """What the history of a campaign on a site is read from, before any verdict.

    `report_link_by_digest`: by the digest of the bundle.  `digest` changes with any source.
    """

    site: Path
    annotations: tuple[Annotation, ...]
    thresholds: analysis.AnalysisSettings
    warnings: tuple[str, ...]
    report_link_by_digest: Mapping[str, str]
    digest: str


def read_history_source(site: Path) -> HistorySource:
    """The annotations, thresholds and links of a campaign on a site, but no tables."""
    warnings: list[str] = []
    site_annotations: tuple[Annotation, ...] = ()
    try:
        site_annotations = remarks.load_site_annotations(site.name)
    except UserError as error:
        warnings.append(str(error))
    try:
        thresholds = analysis.load_site_settings(site.name)
    except UserError as error:
        warnings.append(f"{error}; the package's thresholds are used")
        thresholds = analysis.default_settings()
    revisions, damage_warnings = published.current_revisions(site)
    pages = {
        revision.digest: link
        for revision in revisions
        if (link := store.page_link(revision.path, site))
    }
    reports, campaign, _ = store.split_site_folder(site)
    parts = [
        *(ledger.code_digest(), f"{campaign}/{site.name}"),
        *(thresholds.toml_text, warnings, damage_warnings, pages),
        [annotation.model_dump(mode="json") for annotation in site_annotations],
        [
            [store.page_link(each.path, site), each.digest, store.folder_stamp(each.bundle)]
            for each in revisions
        ],
        store.folder_stamp(store.imports_folder(site)),
        [store.page_link(path, reports) for path in _search_revisions(site)],
    ]
    digest = files.sha256(json.dumps(parts, sort_keys=True).encode())
    return HistorySource(site, site_annotations, thresholds, tuple(warnings), pages, digest)


def _search_revisions(site: Path) -> Iterator[Path]:
    """The newest revision of each search for a cause in this campaign, newest first."""
    reports, campaign, name = store.split_site_folder(site)
    folder = store.site_folder(reports, store.search_name(campaign), name)
    for night in reversed(store.night_folders(folder)):
        yield from store.revisions(night)[-1:]


def read_history(source: HistorySource) -> HistoryPage | None:
    """The history; None if it has no value."""
    site = source.site
    reports, campaign, name = store.split_site_folder(site)
    site_ledger = ledger.read_ledger(reports, campaign, name, source.annotations)
    nights = site_ledger.nights
    if nights.is_empty():
        return None
    night_digests = nights.select("night", "digest").unique().sort("night", "digest")
    notices = [
        *(("Left out: ", warning) for warning in (*site_ledger.warnings, *source.warnings)),
        *(("Note: ", remark) for remark in site_ledger.remarks),
    ]
    searches = []
    for revision in _search_revisions(site):
        try:
            finding = page.sentence(store.bundle_folder(revision))
        except UserError as error:
            finding = f"cannot be read: {error.message}"
        searches.append((f"../../{store.page_link(revision, reports)}", finding))
    site_history = HistoryPage(
        campaign,
        name,
        nights,
        site_ledger.provenance,
        detection.histories(nights, source.thresholds.history),
        source.thresholds.history,
        remarks.notes_on_nights(night_digests["night"].unique().to_list(), source.annotations),
        {
            night: source.report_link_by_digest[digest]
            for night, digest in night_digests.iter_rows()
            if digest in source.report_link_by_digest
        },
        [(StrongText(kind), _without_local_folders(text, site)) for kind, text in notices],
        _INDEX_LINK,
        source.annotations,
        cause_searches=searches,
    )
    newest_nights = (item.newest_night for item in site_history.series_histories.values())
    if not any(newest and newest.is_outside for newest in newest_nights):
        return site_history
    try:
        relaunches = confirmation.read_site_confirmation(site, site_history.verdicts)
        return replace(site_history, confirmation=relaunches)
    except UserError as error:
        notice = (StrongText("Not read: "), _without_local_folders(str(error), site))
        return replace(site_history, notices=[*site_history.notices, notice])


def _without_local_folders(warning: str, site: Path) -> str:
    """`warning` without the folders of this machine, which are not for all readers."""
    for folder in (site, paths.checkout()):
        warning = warning.replace(f"{folder}{os.sep}", "")
    return warning


def overall_level_by_night(nights: pl.DataFrame) -> list[float | None]:
    """By night, the geometric mean of all series over their medians (more is worse), or None."""
    level = pl.col("median") / pl.col("median").median().over(*SERIES)
    worse = pl.when(pl.col("lower_is_better")).then(level).otherwise(1 / level)
    means = (
        nights.filter((pl.col("median") > 0) & (pl.col("left_out") == ""))
        .with_columns(worse=worse)
        .group_by("night")
        .agg(GEOMETRIC_MEAN.aggregate(pl.col("worse")))
    )
    all_nights = nights.select("night").unique().join(means, on="night", how="left").sort("night")
    return all_nights["worse"].to_list()


class HistorySummary(BaseModel):
    """A campaign on a site for the index: counts of verdicts, the level of all nights, labels.

    `overall_levels` has a value for each night.  `nights` counts imported ones, too.  `page_sha256`
    is the digest of the history page, "" without one.  `headline_values` are those of its newest
    nights.  `source_digest` changes with whatever the page is made from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_digest: str = ""
    page_sha256: str = ""
    nights: int
    count_by_verdict: tuple[tuple[Verdict, int], ...] = ()
    overall_levels: tuple[float | None, ...] = ()
    emulation_label: str = ""
    headline_values: tuple[machines.HeadlineValue, ...] = ()


def read_summary(site: Path, source_digest: str) -> HistorySummary | None:
    """The stored summary; None if it is missing, or source, page or record has changed."""
    try:
        record = json.loads(store.file_path(site, HISTORY_SUMMARY_FILE).read_text(encoding="utf-8"))
        proof = record.pop("proof")
        summary = HistorySummary.model_validate(record)
        page = store.file_path(site, HISTORY)
        page_sha256 = files.sha256(page.read_bytes()) if summary.page_sha256 else ""
    except (OSError, ValueError, LookupError, TypeError):
        return None
    is_ours = proof and proof == _proof(site.name, record)
    is_current = (summary.source_digest, summary.page_sha256) == (source_digest, page_sha256)
    return summary if is_ours and is_current else None


def _proof(site: str, record: Mapping[str, Any]) -> str:
    """The proof that the writer of the record held the key of the site."""
    return pseudonyms.site_hmac(site, json.dumps(record, sort_keys=True).encode())


def write_pages(reports: Path) -> None:
    """Write ``index.html``, and ``<campaign>/<site>/history.html`` of each campaign and site.

    The same reports give the same bytes.  A reader sees an old page or a new one, never a part;
    the last of several writers has seen all reports.  UserError if a page cannot be written; all
    others are written.
    """
    faults: list[UserError] = []
    with store.hold_folder(reports, ".pages.lock"):
        entries: list[tuple[CampaignSite, HistorySummary]] = []
        for campaign_site in read_campaign_sites(reports):
            folder = store.site_folder(reports, campaign_site.campaign, campaign_site.site)
            try:
                summary = _write_history(folder, campaign_site)
            except Exception as error:
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                faults.append(UserError(f"{kind}{error}", folder))
                summary = HistorySummary(nights=len(campaign_site.nights))
            entries.append((campaign_site, summary))
        values = sorted(
            (value for _, summary in entries for value in summary.headline_values),
            key=attrgetter("quantity_name", "machine", "setting", "campaign", "toolchain"),
        )
        page = renderers.render_template(
            "index.html.j2",
            ("sort.js",),
            entries=entries,
            sparkline=chart.sparkline,
            values=values,
            most_values=machines.MOST_VALUES,
            most_toolchains=machines.MOST_TOOLCHAINS,
        )
        store.replace_derived_file(reports, INDEX, page.encode())
    if faults:
        raise faults[0]


def _write_history(folder: Path, campaign_site: CampaignSite) -> HistorySummary:
    """Write the history page of a campaign on a site unless it is current; return its summary."""
    source = read_history_source(folder)
    if old_summary := read_summary(folder, source.digest):
        return old_summary
    summary = HistorySummary(source_digest=source.digest, nights=len(campaign_site.nights))
    if site_history := read_history(source):
        page = history.render_page(site_history).encode()
        summary = _summarize(site_history, source, files.sha256(page))
        store.replace_derived_file(folder, HISTORY, page)
    record = summary.model_dump(mode="json")
    text = json.dumps({**record, "proof": _proof(campaign_site.site, record)})
    store.replace_derived_file(folder, HISTORY_SUMMARY_FILE, text.encode())
    return summary


def _summarize(
    site_history: HistoryPage, source: HistorySource, page_sha256: str
) -> HistorySummary:
    def read_night(night: str) -> BundleData:
        if not (report := site_history.report_link_by_night.get(night)):
            raise UserError("the night has no report", source.site)
        bundle = store.bundle_folder(store.linked_revision(source.site, report))
        reader.require_decodable_bundle(bundle)
        return data.read_bundle(bundle)

    verdicts: Counter[Verdict] = Counter()
    for series_history in site_history.series_histories.values():
        verdicts[series_history.verdict()] += 1
    marks = set(labels.history_labels_by_environ(site_history.provenance).values())
    values = machines.headline_values(site_history, source.thresholds, read_night)
    return HistorySummary(
        source_digest=source.digest,
        page_sha256=page_sha256,
        nights=site_history.nights["night"].n_unique(),
        count_by_verdict=tuple((each, verdicts[each]) for each in Verdict if verdicts[each]),
        overall_levels=tuple(overall_level_by_night(site_history.nights)),
        emulation_label="; ".join(sorted(marks)),
        headline_values=tuple(values),
    )
