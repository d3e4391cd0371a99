"""Which rank of a launch failed first, by what its launcher wrote to standard error.

The rank that fails ends without a word, or says why.  Its healthy partner then complains that the
connection is gone, and is ended: its words come last.
"""

from __future__ import annotations

import re

from roundtrip.errors import printable

#: How launchers name a rank: Slurm's srun, Open MPI's mpirun (before and since release 5), MPICH.
_NAMED = re.compile(
    r"^(?:srun: error: (?P<host>\S+): tasks? (?P<ranks>[\d,-]+): (?P<how>[^\n]+)"
    r"|[^\n]*noticed that process rank (?P<ranks2>\d+) with PID \d+ on node (?P<host2>\S+) exited"
    r" on (?P<how2>[^\n.]+)"
    r"|[^\n]*The first process to do so was:\s+Process name: \[\S+,(?P<ranks3>\d+)\]"
    r"\s+Exit code:\s+(?P<code3>\d+)"
    r"|MPI_ABORT was invoked on rank (?P<ranks4>\d+)"
    r"|Abort\((?P<code5>\d+)\) on node \d+ \(rank (?P<ranks5>\d+) in comm \d+\))",
    re.MULTILINE,
)
#: Lines that are no words of the rank that failed: stack traces, and what a launcher adds.
_NOISE = re.compile(
    r"\*\*\* |\[[^\]]+\] \[ *\d+\] |^ *\d+ +/|==== backtrace"
    r"|Failing at address|Signal code|^slurmstepd|^srun: "
)
#: Lines, and blocks between rules, in which a partner complains or a launcher explains.
_OF_OTHERS = re.compile(
    r"connection|peer|broken pipe|unreachable|endpoint|Primary job +terminated"
    r"|detected that one or more processes exited",
    re.IGNORECASE,
)
#: What our own wrapper of each rank writes first is nobody's last word.
_WITNESS = "ROUNDTRIP RANK ON "
#: How srun says that Slurm has given a node up.
_NODE_DOWN = re.compile(r"^srun: error: Node failure on (\S+)$", re.MULTILINE)
_RULE = re.compile(r"^[-=]{20,}$", re.MULTILINE)
_MOST = 160


def words(error: str) -> str:
    """``rank 1 on n7 failed first: Segmentation fault; last words: ...`` of a standard error.

    Where it names no rank, the last words alone; "" of an empty one.
    """
    named = _NAMED.search(error)
    if named is None:
        lines = [line.strip() for line in error.splitlines() if line.strip(" -\t")]
        return _last(lines)
    found = {key.rstrip("2345"): text for key, text in named.groupdict().items() if text}
    where = f" on {found['host']}" if "host" in found else ""
    how = found.get("how") or (f"exit code {found['code']}" if "code" in found else "MPI_Abort")
    several = "ranks" if re.search(r"\D", found["ranks"]) else "rank"
    first = f"{several} {found['ranks']}{where} failed first: {how.strip()}"
    said = _last(_own(error[: named.start()]))
    return "; ".join(filter(None, (printable(first)[:_MOST], said)))


def nodes_down(error: str) -> list[str]:
    """The lists of nodes, as Slurm writes them, that srun says have failed."""
    return _NODE_DOWN.findall(error)


def _own(error: str) -> list[str]:
    """The lines that the failed rank may have written itself."""
    blocks = _RULE.split(error)
    # What is between two rules is one message.
    kept = [one for n, one in enumerate(blocks) if n % 2 == 0 or not _OF_OTHERS.search(one)]
    lines = [line.strip() for block in kept for line in block.splitlines()]
    return [one for one in lines if one and not (_NOISE.search(one) or _OF_OTHERS.search(one))]


def _last(lines: list[str]) -> str:
    own = [line for line in lines if not line.startswith(_WITNESS)]
    return f"last words: {printable(own[-1])[:_MOST]}" if own else ""
