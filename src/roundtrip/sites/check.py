"""``roundtrip site check``: everything that can be checked about a site on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from roundtrip.campaign.site import Site
from roundtrip.errors import UserError
from roundtrip.sites import data, differences, lint, scripts, software
from roundtrip.sites.findings import Finding, summarise


def check(site: Site, scripts_to: Path | None = None) -> list[Finding]:
    """Findings in the order of the site's parts; writes job scripts to `scripts_to` if given."""
    try:
        _ = site.partitions
    except UserError as error:
        return [Finding("fault", "reframe.py", f"does not load: {error}")]
    except FileNotFoundError as error:
        return [Finding("fault", "reframe.py", f"cannot load it: no {error.filename} in PATH")]
    findings = [*lint.site_file(site), *lint.partitions(site), *differences.compare(site)]
    environment = site.checkout / "spack.yaml"
    if folder := site.spack:
        try:
            findings += software.files(folder, environment)
            if declared := data.from_folder(site.folder, site.checkout):
                findings += differences.check_pmix_package(declared, folder / "packages.yaml")
        except UserError as error:
            findings.append(Finding("fault", "Spack part", str(error)))
        findings += software.schema(folder, environment)
        findings += software.lock_file(site, folder, environment)
    findings += _said(site)
    return findings + _scripts(site, scripts_to)


def _said(site: Site) -> Iterator[Finding]:
    """Faults in what the site says of its nights, and in its own thresholds."""
    from roundtrip.collect import analysis  # takes a second, which other commands need not spend
    from roundtrip.history import annotations

    for name, load in (
        (annotations.FILE_NAME, annotations.load),
        (analysis.FILE_NAME, analysis.load),
    ):
        try:
            if (site.folder / name).exists():
                load(site.folder / name)
        except UserError as error:
            yield Finding("fault", name, str(error))


def _scripts(site: Site, folder: Path | None) -> list[Finding]:
    subject = "job scripts"
    try:
        cases = site.cases()
        if not cases:
            why = (
                "no toolchain is installed" if not _historical(site) else "historical: nothing runs"
            )
            return [Finding("not checked", subject, f"ReFrame lists no case here: {why}")]
        rendered = scripts.render(site, scripts.choose(site, cases))
    except UserError as error:
        return [Finding("fault", subject, str(error))]
    longer = differences.too_long(rendered, site, differences.ask_slurm()[0])
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for script in rendered:
            (folder / script.name).write_text(script.text)
    checks = sorted({script.case.check for script in rendered})
    place = f", in {folder}" if folder else ""
    fine = f"{len(rendered)} rendered for {', '.join(checks)}{place}"
    return summarise(subject, longer, fine)


def _historical(site: Site) -> bool:
    return all(lint.HISTORICAL in p.get("features", []) for p in site.partitions.values())
