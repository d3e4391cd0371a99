"""Which nodes the options of a partition choose, as sbatch reads them: queue, features, names."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*([()&|,]|[^()&|,\s]+)")
_COUNTED = re.compile(r"[\[\]*]")


@dataclass(frozen=True)
class Chosen:
    """`queue` is a partition of Slurm; `names` and `excluded` are host lists as Slurm writes them,
    `features` is an expression.  "" for what is not asked for."""

    queue: str = ""
    features: str = ""
    names: str = ""
    excluded: str = ""

    def told(self) -> str:
        """The options for people, without the queue's."""
        named = (
            ("constraint", self.features),
            ("nodelist", self.names),
            ("exclude", self.excluded),
        )
        return " ".join(f"--{option}={value}" for option, value in named if value)


def by(access: Iterable[str]) -> Chosen:
    """What the options in `access` choose; of an option that comes twice the last counts."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-p", "--partition", dest="queue", default="")
    parser.add_argument("-C", "--constraint", dest="features", default="")
    parser.add_argument("-w", "--nodelist", dest="names", default="")
    parser.add_argument("-x", "--exclude", dest="excluded", default="")
    try:
        known, _ = parser.parse_known_args([word for one in access for word in shlex.split(one)])
    except argparse.ArgumentError:
        return Chosen()
    return Chosen(**vars(known))


def takes(expression: str, features: Collection[str]) -> bool:
    """Whether a node with these `features` satisfies ``--constraint=`` `expression`.

    ``&`` (or a comma) and ``|`` count from left to right, as in Slurm, with parentheses.
    ValueError for what is asked of several nodes together (brackets, counts), or cannot be read.
    """
    if _COUNTED.search(expression):
        raise ValueError("brackets and counts are asked of several nodes together")
    tokens = [found[1] for found in _TOKEN.finditer(expression)]
    value = _expression(tokens, set(features))
    if tokens:
        raise ValueError(f"'{tokens[0]}' is not expected there")
    return value


def _expression(tokens: list[str], features: set[str]) -> bool:
    value = _term(tokens, features)
    while tokens and tokens[0] in "&|,":
        is_or = tokens.pop(0) == "|"
        other = _term(tokens, features)
        value = value or other if is_or else value and other
    return value


def _term(tokens: list[str], features: set[str]) -> bool:
    first = tokens.pop(0) if tokens else ""
    if first == "(":
        value = _expression(tokens, features)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("a parenthesis is not closed")
        return value
    if first in ("", ")", "&", "|", ","):
        raise ValueError("a feature is missing")
    return first in features
