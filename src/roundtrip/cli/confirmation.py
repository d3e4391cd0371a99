"""What a night does at its end: launch again what was worse, and say what that confirms."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from roundtrip import paths
from roundtrip.campaign import runner
from roundtrip.campaign.outcome import Outcome
from roundtrip.campaign.runner import Runner
from roundtrip.collect import bundle, manifest, records
from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.history.annotations import load_site
from roundtrip.report import confirmation, data, units
from roundtrip.report.nights import Judged
from roundtrip.report.sections import history
from roundtrip.stats.nights.newest import Confirmation
from roundtrip.stats.planning import recommended_launches
from roundtrip.stats.settings import Levels

#: Series that are printed, the worst first.
_MOST = 12


def launch(night: Runner, levels: Levels, tell: Callable[[str], None]) -> None:
    """Launch again what the nights before did not predict; what prevents it is printed.

    A night that cannot has its report nevertheless.
    """
    if not Outcome.from_tree(night.tree).passed:
        return
    try:
        judged = _judged(night.tree.path)
        worse, cases = len(confirmation.pairs(judged)), confirmation.cases(judged)
        if not worse:
            return
        series, again = units.plural(worse, "series", "series"), units.plural(len(cases), "case")
        tell(f"worse last night: {series}; launching {again} again, controls included")
        runner.launch_confirmation(night, cases, recommended_launches(worse, levels))
    except UserError as error:
        tell(f"warning: what was worse last night was not launched again: {error}")


def tell(run_dir: Path, revision: Path, say: Callable[[str], None]) -> frozenset[str]:
    """Say in lines what the published report of a night confirms, nothing if nothing was worse.

    Returns the keys of the series that it confirms.
    """
    if not (run_dir / "env" / records.CONFIRMATION_FILE).is_file():
        return frozenset()
    held = data.read(revision / "bundle")
    judged = history.tonight(held)
    again = confirmation.confirmed(held, judged)
    say(again.sentence)
    every = [] if again.why_not else list(again.series.values())
    for one in every[:_MOST]:
        say(f"{one.sentence}: {one.line.label}")
    if len(every) > _MOST:
        say(f"and {units.plural(len(every) - _MOST, 'series', 'series')} more, in the report")
    return frozenset(one.line.series.key for one in every if one.verdict is Confirmation.CONFIRMED)


def _judged(run_dir: Path) -> Judged:
    """Every series after this night, as its report will judge them."""
    with tempfile.TemporaryDirectory(prefix="roundtrip-night-") as folder:
        built = bundle.build(run_dir, Path(folder))
        checked = manifest.verify(built)
        said = load_site(checked.data["site"])
        known = ledger.read_ledger(
            paths.reports(), checked.data["campaign"], checked.data["site"], said
        )
        ledger.attach(built, checked, known, said)
        return history.tonight(data.read(built))
