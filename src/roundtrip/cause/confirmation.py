"""Launches again, at the end of a night, what was worse in it, and says what that confirmed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.history import annotations as site_notes
from roundtrip.history import ledger
from roundtrip.measure import bundle, manifest, records, runner, store
from roundtrip.measure.outcome import Outcome
from roundtrip.measure.runner import Runner
from roundtrip.report import confirmation, data, units
from roundtrip.report.nights import NightVerdicts
from roundtrip.report.sections import history
from roundtrip.stats.nights.newest import Confirmation
from roundtrip.stats.planning import recommended_launches
from roundtrip.stats.settings import Levels

#: Maximum number of confirmed series that are printed, the worst first.
_MOST = 12


def launch(night: Runner, levels: Levels, say: Callable[[str], None]) -> None:
    """Launch the cases of series that were worse last night again, with their controls.

    A UserError becomes a warning: the night still gets its report.
    """
    if not Outcome.from_tree(night.tree).counts.passed:
        return
    try:
        verdicts = _judge_night(night.tree.path)
        worse, cases = len(confirmation.pairs(verdicts)), confirmation.cases(verdicts)
        if not worse:
            return
        series, count = units.plural(worse, "series", "series"), units.plural(len(cases), "case")
        say(f"worse last night: {series}; launching {count} again, controls included")
        runner.launch_confirmation(night, cases, recommended_launches(worse, levels))
    except UserError as error:
        say(f"warning: what was worse last night was not launched again: {error}")


def _judge_night(run_dir: Path) -> NightVerdicts:
    """The verdicts on all series after this night, as its report will give them."""
    with tempfile.TemporaryDirectory(prefix="roundtrip-night-") as folder:
        bundle_path = bundle.build(run_dir, Path(folder))
        bundle_manifest = manifest.verify(bundle_path)
        campaign, site = (bundle_manifest.data[key] for key in ("campaign", "site"))
        notes = site_notes.load_site(site)
        site_ledger = ledger.read_ledger(paths.reports(), campaign, site, notes)
        ledger.attach(bundle_path, bundle_manifest, site_ledger, notes)
        return history.judge_nights(data.read(bundle_path))


def describe(run_dir: Path, revision: Path, say: Callable[[str], None]) -> frozenset[str]:
    """Print what the published report of a night confirms; nothing if no series was worse.

    Returns the keys of the confirmed series.
    """
    if not (run_dir / "env" / records.CONFIRMATION_FILE).is_file():
        return frozenset()
    night_data = data.read(store.bundle(revision))
    relaunch = confirmation.read_confirmation(night_data, history.judge_nights(night_data))
    say(relaunch.sentence)
    results = [] if relaunch.skip_reason else list(relaunch.series.values())
    for result in results[:_MOST]:
        say(f"{result.sentence}: {result.line.label}")
    if len(results) > _MOST:
        say(f"and {units.plural(len(results) - _MOST, 'series', 'series')} more, in the report")
    return frozenset(
        result.line.series.key for result in results if result.verdict is Confirmation.CONFIRMED
    )
