"""Expands the matrix of ``spack.yaml`` with a site's definitions; compares a lock with it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.sites import yamlfile
from roundtrip.sites.lock import Lock

_TOKEN = re.compile(r"[@%]=?[^\s+~^@%]+|[+~][\w-]+|[\w.-]+:?=\S+|[\w.-]+")


def definitions(folder: Path) -> dict[str, list[str]]:
    """Lists by name in ``definitions.yaml`` of a site's Spack part; UserError without the file."""
    file = folder / "definitions.yaml"
    if not file.is_file():
        raise UserError("missing: spack.yaml takes its MPIs and Boosts from it", file)
    entries = (yamlfile.load(file) or {}).get("definitions", [])
    return {key: list(values) for entry in entries for key, values in entry.items()}


def names_used(environment: Path) -> set[str]:
    """Names of the definitions that ``spack.yaml`` uses."""
    specs = yamlfile.load(environment)["spack"]["specs"]
    return set(re.findall(r"\$\^?(\w+)", str(specs)))


def expand(environment: Path, defined: dict[str, list[str]]) -> list[str]:
    """Every root that ``spack.yaml`` asks for, in its order; UserError for an undefined list."""
    roots: list[str] = []
    for item in yamlfile.load(environment)["spack"]["specs"]:
        rows = item["matrix"] if isinstance(item, dict) else [[item]]
        expanded = [_row(row, defined, environment) for row in rows]
        roots += [" ".join(parts) for parts in itertools.product(*expanded)]
    return roots


def mismatches(lock: Lock, wanted: list[str]) -> list[str]:
    """Lines about roots that the lock lacks, or that nobody asked for; at most 3 of each."""
    asked, held = (
        Counter(map(canonical, wanted)),
        Counter(canonical(root.asked) for root in lock.roots),
    )
    return [
        *_some("not in the lock file", sorted((asked - held).elements())),
        *_some("in the lock file and not asked for", sorted((held - asked).elements())),
    ]


def canonical(spec: str) -> str:
    """A spec with sorted variants and dependencies, because Spack spells it differently in the lock
    file than people do in spack.yaml."""
    parts = []
    for part in re.split(r"\s*\^", spec):
        name, *rest = _TOKEN.findall(part)
        sorted_values = [
            f"{key}={','.join(sorted(value.split(',')))}" if value else key
            for key, _, value in (token.partition("=") for token in rest)
        ]
        parts.append(" ".join([name, *sorted(sorted_values)]))
    root, *dependencies = parts
    return " ^".join([root, *sorted(dependencies)])


def _some(what: str, roots: list[str], most: int = 3) -> list[str]:
    lines = [f"{what}: {root}" for root in roots[:most]]
    return lines + ([f"{what}: {len(roots) - most} more"] if len(roots) > most else [])


def _row(row: list[str], defined: dict[str, list[str]], environment: Path) -> list[str]:
    values: list[str] = []
    for item in row:
        reference = re.fullmatch(r"\$(\^?)(\w+)", item)
        if not reference:
            values.append(item)
            continue
        caret, name = reference.groups()
        if name not in defined:
            raise UserError(f"the site does not define '{name}', which this file uses", environment)
        values += [f"{caret}{value}" for value in defined[name]]
    return values
