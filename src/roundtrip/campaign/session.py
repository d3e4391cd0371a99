"""One ReFrame session of a campaign: some cases, each launched once, in random order."""

from __future__ import annotations

import ctypes
import json
import re
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from roundtrip.campaign import scheduler
from roundtrip.campaign.matrix import Expected
from roundtrip.campaign.site import Site

_RESULT = re.compile(r"^\[\s*(?P<verdict>OK|FAIL|ABORT|SKIP)\s*\] \(.*?\) (?P<name>.+)$")
_CONTROL = re.compile(r"\x1b\[[0-9;]*m")
_PR_SET_PDEATHSIG = 1

Listener = Callable[[str, str], None]


def blocks(wanted: Sequence[Expected]) -> list[list[Expected]]:
    """Split cases into the fewest groups that one ReFrame command line can name exactly.

    A command line selects a product of tests and toolchains on one partition, with one setting of
    variables; each block is such a product.
    """
    toolchains: dict[tuple[object, ...], dict[str, Expected]] = defaultdict(dict)
    for item in wanted:
        test = (item.case.hash, item.case.partition, item.case.check, item.variables)
        toolchains[test][item.case.environ] = item
    products: dict[tuple[object, ...], list[Expected]] = defaultdict(list)
    for (_, partition, check, variables), chosen in toolchains.items():
        key = (partition, check, variables, tuple(sorted(chosen)))
        products[key].extend(chosen.values())
    return list(products.values())


def command(site: Site, block: Sequence[Expected], folder: Path, label: str) -> list[str]:
    """The ReFrame command line that launches each case of `block` once, below `folder`."""
    first = block[0].case
    arguments = [
        "reframe",
        # Not all of checks/: ReFrame takes seconds to make the thousands of tests there are.
        f"--checkpath={block[0].file}",
        f"--prefix={folder}",
        f"--perflogdir={folder / 'perflogs'}",
        f"--report-file={folder / 'report.json'}",
        f"--system={site.name}:{first.partition}",
        f"--session-extras=campaign={label}",
        *scheduler.tags(site.partitions[first.partition]["scheduler"], label),
        # Nothing beside a timing; and no fixed order, which would confound a case with time.
        # Not as a mode of ReFrame: 4.10 forgets --prgenv when given one.
        "--exec-policy=serial",
        "--exec-order=random",
    ]
    arguments += [f"--name=/{hash_}" for hash_ in sorted({item.case.hash for item in block})]
    environs = "|".join(sorted({item.case.environ for item in block}))
    arguments.append(f"--prgenv=^({environs})$")
    arguments += [f"--setvar={first.check}.{key}={value}" for key, value in block[0].variables]
    return [*arguments, "--run"]


def run(
    site: Site,
    block: Sequence[Expected],
    folder: Path,
    label: str,
    lock_descriptor: int,
    on_result: Listener,
) -> int:
    """Run one block; `on_result(verdict, name)` is called as results come in.

    Returns ReFrame's exit status; that and the wall time go to ``session.json``, all that ReFrame
    prints to ``console.log``.  The session is told to stop (TERM) when this process dies or is
    interrupted, and cancels its jobs then.
    """
    scheduler.clear(site.partitions[block[0].case.partition]["scheduler"], label)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with (folder / "console.log").open("w") as console:
        process = subprocess.Popen(
            command(site, block, folder, label),
            cwd=site.checkout,
            env=site.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(lock_descriptor,),
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        assert process.stdout is not None  # noqa: S101  for the type checker
        try:
            for line in process.stdout:
                console.write(line)
                if match := _RESULT.match(_CONTROL.sub("", line.rstrip())):
                    on_result(match["verdict"], match["name"])
        except BaseException:
            _stop(process)
            raise
        status = process.wait()
    ended = {"exit_status": status, "wall_s": round(time.monotonic() - start, 3)}
    (folder / "session.json").write_text(json.dumps(ended) + "\n")
    return status


def _stop(process: subprocess.Popen[str], patience_s: float = 20.0) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
