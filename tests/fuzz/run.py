"""Runs cases of the fuzzer: one case is a reader and a seed, and can be run again alone."""

import contextlib
import faulthandler
import json
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from fuzz import trees
from fuzz.bundles import decoding_apart
from fuzz.mutate import mutated
from fuzz.readers import READERS, accepted

TREES = "run tree"
#: Names of what can be fuzzed, with their shares of the cases.
SHARES = {**dict.fromkeys(READERS, 5), "samples.csv": 10, "run.json": 10, TREES: 1}
#: No case may take so long, in seconds; a loaded machine is slow.
PATIENCE = 120.0


def case(name: str, seed: int, folder: Path, alone: bool = False) -> bool:
    """Run one case; whether its input was accepted.  Raises for a finding.

    `alone`: tables are first decoded in a process of their own, as commands do; too slow for all.
    """
    random = Random(f"{name}/{seed}")
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    try:
        if name == TREES:
            return trees.check(random, folder)
        reader = READERS[name]
        content = random.choice(reader.seeds())
        with decoding_apart() if alone else contextlib.nullcontext():
            return accepted(reader, mutated(random, content), content, folder)
    finally:
        faulthandler.cancel_dump_traceback_later()


def share(name: str, cases: int) -> int:
    """How many of all `cases` are of `name`."""
    return max(1, round(cases * SHARES[name] / sum(SHARES.values())))


def several(name: str, seeds: range, doing: Path) -> tuple[str, Counter[str], list[str]]:
    """Run cases of one reader; counts of what came out, and what was found.

    `doing` names the case under way: what a hang or a crash leaves to say which it was.
    """
    counts: Counter[str] = Counter()
    findings = []
    with tempfile.TemporaryDirectory(prefix="roundtrip-fuzz-") as folder:
        for seed in seeds:
            doing.write_text(json.dumps([name, seed]))
            try:
                counts["accepted" if case(name, seed, Path(folder)) else "rejected"] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                counts["found"] += 1
                ending = "".join(traceback.format_exception(error)[-3:])
                findings.append(f"{name}, seed {seed}:\n{ending}")
    doing.unlink()
    return name, counts, findings
