"""Records the timed section of a launch once, and replays it on any platform, at any host speed.

    trace = record(["build/npb", "--benchmark", "MG", "--class", "S"], 16, platform, folder)
    seconds = replay(trace, faster_platform)

A launch executes what it computes; a replay takes the declared work and the messages only, so it
costs neither memory nor the time to compute.  What it cannot know: choices that a program makes by
looking at the clock.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.simulated import smpirun
from roundtrip.simulated.platform import Platform
from roundtrip.simulated.trace import Trace, cut

#: Options of smpirun by which a launch takes the time of its declared work and of its messages, and
#: no other: computing costs nothing more, and neither does reading the clock, as in a replay.
REPRODUCIBLE = ("--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0")
#: What a recorded launch said of itself, beside the trace.
RUN = "run.json"
_SAMPLES, _INDEX, _LIST = "samples.csv", "trace.txt", "ranks.txt"
_COMPLETE = re.compile(r"^ROUNDTRIP COMPLETE ranks=(\d+) hosts=\d+$", re.MULTILINE)
#: When a rank has met the others, and when the last one has ended; seconds.
_MET = re.compile(r"^(\d+\.\d+)_\d+ barrier ", re.MULTILINE)
_ENDED = re.compile(r"Simulated time: (\S+) seconds")


def record(program: Sequence[str | Path], ranks: int, platform: Platform, folder: Path) -> Trace:
    """Simulate `program`, a workload with its flags, and keep its timed section in `folder`.

    `folder` is new; it gets a file a rank, and run.json and samples.csv of the launch.  UserError
    if the launch failed; then nothing is left of `folder`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        words = [*REPRODUCIBLE, "-trace-ti", "-trace-file", _INDEX]
        command = [str(Path(program[0]).resolve()), *map(str, program[1:])]
        done = smpirun.run([*words, *command, "--samples", _SAMPLES], ranks, platform, place)
        ended = _COMPLETE.search(done.stdout)
        if not ended or int(ended[1]) != ranks:
            raise UserError(f"{command[0]} did not end with its end marker on {ranks} ranks")
        try:
            trace = cut(place / _INDEX, folder)
            for name in (RUN, _SAMPLES):
                shutil.copyfile(place / name, folder / name)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return trace


def replay(trace: Trace, platform: Platform) -> float:
    """Seconds that the timed section takes on `platform`, from the first rank that begins it.

    UserError if it cannot be replayed: the platform lacks hosts, or messages do not match.
    """
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "heads").mkdir()
        heads = [trace.head(rank, place / "heads") for rank in range(trace.ranks)]
        words = ["--log=smpi_replay.thres:verbose", "--log=smpi_replay.fmt:%r_%m%n"]
        met = _MET.findall(_run(heads, words, platform, place))
        words = ["--log=smpi_utils.thres:info", "--cfg=smpi/display-timing:yes"]
        ended = _ENDED.search(_run(trace.files, words, platform, place))
    if not ended or len(met) != trace.ranks:
        raise UserError("smpirun replayed the trace and told no time", trace.folder)
    return float(ended[1]) - min(map(float, met))


def _run(files: Sequence[Path], words: Sequence[str], platform: Platform, place: Path) -> str:
    """What smpirun says on standard error of a replay of `files`, one a rank."""
    (place / _LIST).write_text("".join(f"{file.resolve()}\n" for file in files))
    return smpirun.run([*words, "-replay", _LIST], len(files), platform, place).stderr
