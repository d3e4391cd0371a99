"""``roundtrip compare``, ``ab``: two measured sides, and two toolchains measured side by side."""

from __future__ import annotations

import re
import secrets
import tempfile
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roundtrip import paths
from roundtrip.cli import app, common, current, process
from roundtrip.cli.common import say
from roundtrip.errors import UserError, require_writable, writing
from roundtrip.measure import analysis, campaign_file, environment, matrix, tree
from roundtrip.measure.tree import revision
from roundtrip.model import NAME_WORDS, is_name
from roundtrip.sites import software
from roundtrip.sites.site import Site

if TYPE_CHECKING:
    from roundtrip.compare.model import Comparison
    from roundtrip.compare.side import Side, Sources

_TOOLCHAIN: dict[str, Any] = {"autocompletion": current.toolchains}
_PERCENT = re.compile(r"(?P<number>\d+(\.\d+)?)\s*%")


class Format(StrEnum):
    """The format of a comparison."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


FORMAT = Annotated[Format, typer.Option("--format", help="How the comparison is written.")]
OUTPUT = Annotated[Path | None, typer.Option(help="File to write it to, not the terminal.")]
FAIL_ON = Annotated[
    str | None,
    typer.Option(metavar="3%", help="Least regression that fails; minimum_effect by default."),
]
ALL = Annotated[
    bool,
    typer.Option(
        "--all", help="Show all facts that differ, not only three, and those that do not."
    ),
]


@app.command(
    epilog=common.examples(
        "compare local/smoke/2026-11-24 local/smoke/2026-11-25",
        "compare local/smoke/2026-11-25 --by toolchain",
    )
)
def compare(
    base: Annotated[str, typer.Argument(help="What is compared with: SOURCE[:key=value,...].")],
    new: Annotated[str | None, typer.Argument(help="What is compared; may be BASE's own.")] = None,
    toolchains: Annotated[
        tuple[str, str] | None, typer.Option(help="Two toolchains of BASE.", metavar="OLD NEW")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Key of which BASE has two values: toolchain, mpi, boost, spack, ..."),
    ] = None,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
    fail_on: FAIL_ON = None,
    everything: ALL = False,
) -> None:
    """Compare two reports, bundles, run trees or nights, or two sides of one of them.

    A source is a folder or SITE/CAMPAIGN/DATE of the published reports.  Keys: toolchain, mpi,
    boost, spack, site, partition, check, study.  Exit status: 0 nothing regressed; 1 something did,
    or NEW lacks a case of the same run; 2 bad input, or nothing could be decided.
    """
    threshold = fraction(fail_on)
    if output:
        require_writable(output)
    if new is not None and (toolchains or by):
        raise UserError("--toolchains and --by choose two sides of one source: leave NEW out")
    from roundtrip.compare import comparison, side  # takes a second to load

    with side.open_sources(paths.reports()) as sources:
        if new is not None:
            sides = (sources.side(base), sources.side(new))
        elif toolchains:
            one, other = ({"toolchain": name} for name in toolchains)
            sides = (sources.side(base, one), sources.side(base, other))
        elif by:
            sides = _sides_by_key(sources, base, by)
        else:
            raise UserError(
                "one source: name a second one, or use --toolchains OLD NEW or --by KEY"
            )
        result = comparison.compare(*sides, fail_on=threshold)
        write(result, form, output, everything)
    raise typer.Exit(result.exit_status)


def _sides_by_key(sources: Sources, source: str, key: str) -> tuple[Side, Side]:
    """The two sides of a source that has two values of `key`."""
    from roundtrip.compare.side import KEYS

    if key not in KEYS:
        raise UserError(f"--by {key}: legal are {', '.join(KEYS)}")
    values = sorted({str(getattr(case, key)) for case in sources.side(source).cases})
    if len(values) != 2:
        raise UserError(
            f"{source} has {len(values)} values of {key}, not two ({'; '.join(values)}): "
            f"name both sides, {source}:{key}=..."
        )
    one, other = ({key: value} for value in values)
    return sources.side(source, one), sources.side(source, other)


def fraction(text: str | None, option: str = "--fail-on") -> float | None:
    """Parse ``3%`` into a fraction; None for None.  UserError unless between 0 and 100 %."""
    if text is None:
        return None
    match = _PERCENT.fullmatch(text.strip())
    value = float(match["number"]) / 100 if match else 0.0
    if not 0 < value < 1:
        raise UserError(f"{option} {text}: a percentage above 0 and below 100, such as 3%")
    return value


def write(
    comparison: Comparison, form: Format, output: Path | None, everything: bool = False
) -> None:
    """Print the comparison, or write it to `output`."""
    from rich.console import Console

    from roundtrip.compare import forms

    if form is Format.TABLE:
        text = forms.as_text(comparison, everything, None if output else Console())
    else:
        render = {
            Format.JSON: forms.as_json,
            Format.MARKDOWN: forms.as_markdown,
            Format.JUNIT: forms.as_junit,
        }[form]
        text = render(comparison, everything)
    if output is None:
        typer.echo(text, nl=False)
    else:
        with writing(output):
            output.write_text(text, encoding="utf-8")


class Order(StrEnum):
    """How the order of the two toolchains in a round is chosen."""

    RANDOM = "random"
    ABBA = "abba"


@app.command(
    epilog=common.examples(
        "ab openmpi41-boost181 mpich40-boost181",
        "ab openmpi41-boost181 mpich40-boost181 --budget 1h --fail-on 3%",
    )
)
def ab(
    context: typer.Context,
    base: Annotated[str, typer.Argument(**_TOOLCHAIN, help="The toolchain that is compared with.")],
    new: Annotated[str, typer.Argument(**_TOOLCHAIN, help="The toolchain that is compared.")],
    site: common.SITE_OPTION,
    checks: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:parameter=value,...]", help="A check to launch; repeatable."),
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="variable=value", help="As `reframe -S`; repeatable."),
    ] = None,
    campaign: Annotated[
        str, typer.Option(help="The campaign whose checks are launched, a name or a TOML file.")
    ] = "ab",
    partitions: Annotated[
        list[str] | None, typer.Option("--partition", help="All by default; repeatable.")
    ] = None,
    budget: common.BUDGET = "20m",
    fail_on: FAIL_ON = None,
    resume: Annotated[bool, typer.Option(help="Go on with the newest run of the two.")] = False,
    order: Annotated[
        Order, typer.Option(help="Of a round: drawn anew, or abba: AB BA or BA AB for two rounds.")
    ] = Order.RANDOM,
    wait: common.WAIT = False,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
    everything: ALL = False,
) -> None:
    """Launch two toolchains in rounds, until each claim is decided.

    It stops when each is decided, when the budget is over, or at Ctrl-C, and judges what is there
    by a test that is valid whenever one stops.  Exit status: 0 nothing regressed; 1 NEW is slower
    in something, or a case completed with one of the two only; 2 bad input, or nothing could be
    decided; 130 interrupted.
    """
    if base == new:
        raise UserError(
            f"{base} against itself: for how often a difference is found, see `bench aa`"
        )
    for name in (base, new):
        if not is_name(name):
            raise UserError(f"{name!r} is no toolchain: {NAME_WORDS}")
    minutes, threshold = common.minutes(budget), fraction(fail_on)
    if output:
        require_writable(output)
    checkout = paths.checkout()
    here = Site(site, checkout)
    software.require_ready(here)
    scratch = Path(context.with_resource(tempfile.TemporaryDirectory(prefix="roundtrip-ab-")))
    run_tree = _newest_run(base, new, site) if resume else None
    if run_tree:
        content = (run_tree.path / "campaign.toml").read_text(encoding="utf-8")
    else:
        campaign_checks = campaign_file.load_campaign(
            campaign_file.find_campaign(campaign, checkout / "campaigns")
        ).checks
        plans = campaign_file.select_checks(campaign_checks, checks or (), variables or ())
        seed = secrets.randbits(32) if order is Order.ABBA else None
        content = campaign_file.campaign_text((base, new), plans, minutes, partitions or (), seed)
    declaration = campaign_file.load_campaign(
        campaign_file.write_campaign(scratch, (base, new), content)
    )
    declaration = replace(declaration, time_limit_minutes=minutes)
    try:
        plan = matrix.shared_cases(matrix.build_matrix(declaration, here), declaration)
    except UserError as error:  # without the name of a generated file
        raise UserError(error.message) if error.file == str(declaration.file) else error from None
    context.with_resource(tree.hold_site(here, declaration.name, wait, say))
    if run_tree:
        tree.require_same_matrix(run_tree, plan)
        environment.require_unchanged(run_tree, declaration.file)
    else:
        with writing(paths.runs()):
            run_tree = tree.create_tree(
                paths.runs(), declaration, site, plan, revision(checkout), analysis.for_site(site)
            )
    raise typer.Exit(
        _measure(
            declaration, here, plan, run_tree, (base, new), threshold, form, output, everything
        )
    )


def _measure(
    declaration: campaign_file.Campaign,
    here: Site,
    plan: matrix.Matrix,
    run_tree: tree.RunTree,
    toolchains: tuple[str, str],
    threshold: float | None,
    form: Format,
    output: Path | None,
    everything: bool,
) -> int:
    """Launch until enough is decided, show the comparison, and return the exit status."""
    # These take a second to load, which a fault in the arguments need not spend.
    from roundtrip.compare.comparison import Watch
    from roundtrip.measure import session
    from roundtrip.measure.outcome import Outcome
    from roundtrip.measure.progress import TerminalProgress
    from roundtrip.measure.runner import Runner

    watch = Watch(run_tree.path, *toolchains, tell=say, fail_on=threshold)
    is_over, is_interrupted = False, False
    process.on_term()
    with writing(run_tree.path), run_tree:
        environment.record_environment(here, plan, run_tree.path / "env")
        for warning in environment.tuning_warnings(here):
            say(f"warning: {warning}")
        with TerminalProgress(declaration.title, common.console) as progress:
            try:
                session.build_all(here, plan.expected, run_tree, progress)
                environment.record_pins(run_tree)
                runner = Runner(declaration, here, run_tree, plan.expected, progress)
                runner.should_stop = watch.should_stop
                is_over = not runner.run()
            except process.Terminated:
                say("stopped by TERM: judging what is there")
                is_over = True
            except KeyboardInterrupt:
                is_interrupted = True
        counts = Outcome.from_tree(run_tree).counts
        run_tree.record_launch_count(max(counts.passed.values(), default=0))
        outcome = Outcome.from_tree(run_tree)
        if outcome.is_complete and not is_interrupted:
            run_tree.finish()
    if stop_reason := run_tree.state.get("stopped"):
        say(f"stopped: {stop_reason}; what was measured before is kept")
    for reason in outcome.failures:
        say(f"failed: {reason}")
    if is_interrupted or is_over:
        ending = "interrupted" if is_interrupted else "the time is over"
        go_on = common.resume_command(f"--site={here.name}")
        say(f"{ending}; nothing is lost. Go on with: {go_on}")
    say(f"run: {run_tree.path}")
    try:
        comparison = watch.compare()
    except UserError as error:
        if not is_interrupted:
            raise
        say(f"nothing to compare yet: {error.message}")
        return process.INTERRUPTED
    write(comparison, form, output, everything)
    return process.INTERRUPTED if is_interrupted else comparison.exit_status


def _newest_run(base: str, new: str, site: str) -> tree.RunTree:
    """The newest run of the two toolchains on `site`, ended or not; UserError if there is none."""
    folder = paths.runs() / campaign_file.campaign_name(base, new) / site
    state_files = sorted(folder.glob("*/state.json"))
    if not state_files:
        raise UserError(f"no run of {base} against {new} on site '{site}' to resume", folder)
    return tree.RunTree(state_files[-1].parent)
