"""Reads a ``spack.lock`` and checks that every label in it names exactly one build.

Spack concretizes each root of the environment separately, so one "MPICH 4.3" may be two
different builds in one lock file.  A comparison across them would mean nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError


@dataclass(frozen=True)
class Concrete:
    """One concrete spec: `external` is its prefix if Spack did not build it; `dependencies` are
    tuples (name, hash, virtuals that this edge provides)."""

    hash: str
    name: str
    version: str
    target: str
    parameters: dict[str, Any]
    external: str | None
    dependencies: tuple[tuple[str, str, tuple[str, ...]], ...]

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}"

    def value(self, variant: str) -> str:
        """The value of a variant, as Spack writes it."""
        value = self.parameters.get(variant)
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class RootSpec:
    """The abstract spec of the user, and the hash of its concrete spec."""

    spec: str
    hash: str


@dataclass(frozen=True)
class Lock:
    """A lock file: its roots in order, and its concrete specs by hash."""

    file: Path
    roots: tuple[RootSpec, ...]
    specs: dict[str, Concrete]

    def closure(self, start: str) -> Iterator[Concrete]:
        """The spec of hash `start` and all its dependencies, each once."""
        queue, hashes = [start], {start}
        while queue:
            spec = self.specs[queue.pop()]
            yield spec
            for _, hash_, _ in spec.dependencies:
                if hash_ not in hashes:
                    hashes.add(hash_)
                    queue.append(hash_)

    @cached_property
    def mpis(self) -> dict[str, Concrete]:
        """Every concrete spec that another one uses as its MPI, by hash."""
        return {
            hash_: self.specs[hash_]
            for spec in self.specs.values()
            for _, hash_, virtuals in spec.dependencies
            if "mpi" in virtuals
        }

    def roots_using(self, hash_: str) -> list[RootSpec]:
        """Return the roots that depend on the spec `hash_`, or are this spec."""
        return [r for r in self.roots if any(s.hash == hash_ for s in self.closure(r.hash))]

    def mpi_of(self, hash_: str) -> Concrete | None:
        """Return the MPI among the spec `hash_` and its dependencies; None if there is none."""
        return next((spec for spec in self.closure(hash_) if spec.hash in self.mpis), None)


def read(file: Path) -> Lock:
    """Read the lock file `file`; UserError if it is invalid or refers to specs that it lacks."""
    if not file.is_file():
        raise UserError("no lock file: run `spack concretize` in the environment first", file)
    content = files.read_json(file)
    try:
        specs = {}
        for hash_, entry in content["concrete_specs"].items():
            # Spack writes a generic target as a word, others as an object with a name.
            target = entry.get("arch", {}).get("target", "")
            specs[hash_] = Concrete(
                hash=hash_,
                name=entry["name"],
                version=str(entry["version"]),
                target=str(target["name"] if isinstance(target, dict) else target),
                parameters=entry.get("parameters", {}),
                external=(entry.get("external") or {}).get("path"),
                dependencies=tuple(
                    (
                        edge["name"],
                        _require_hash(edge["hash"]),
                        tuple(edge["parameters"].get("virtuals", ())),
                    )
                    for edge in entry.get("dependencies", ())
                ),
            )
        roots = tuple(
            RootSpec(root["spec"], _require_hash(root["hash"])) for root in content["roots"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"not a Spack lock file ({type(error).__name__}: {error})", file) from None
    hashes = set(specs)
    references = {r.hash for r in roots} | {d[1] for s in specs.values() for d in s.dependencies}
    for reference in sorted(references - hashes):
        raise UserError(f"truncated: it refers to {reference[:7]!a} and does not hold it", file)
    return Lock(file, roots, specs)


def _require_hash(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a hash is text, not {value!r:.40}")
    return value


def split_builds(lock: Lock, label: Callable[[Concrete], str] | None = None) -> list[str]:
    """Return a line for each build of an MPI besides the most used one of the same `label`."""
    builds: dict[str, list[Concrete]] = defaultdict(list)
    for spec in lock.mpis.values():
        builds[label(spec) if label else spec.label].append(spec)
    lines = []
    for name, specs in sorted(builds.items()):
        if len(specs) == 1:
            continue
        base, *odd_builds = sorted(
            specs, key=lambda spec: (-len(lock.roots_using(spec.hash)), spec.hash)
        )
        for spec in odd_builds:
            roots = lock.roots_using(spec.hash)
            lines.append(
                f"{name} is {len(specs)} builds: {base.hash[:7]} "
                f"({len(lock.roots_using(base.hash))} roots), and the odd one {spec.hash[:7]} in "
                f"{len(roots)}: {roots[0].spec}; it differs in {_spec_difference(base, spec)}: "
                "pin it with `require:`, or tell the two apart with `label` in site.toml"
            )
    return lines


def split_targets(lock: Lock) -> list[str]:
    """Return a line if the MPIs and the roots that use one are built for several targets."""
    labels: dict[str, list[str]] = defaultdict(list)
    for hash_ in sorted({*lock.mpis, *(root.hash for root in lock.roots)}):
        spec = lock.specs[hash_]
        if spec.external is None and (hash_ in lock.mpis or lock.mpi_of(hash_)):
            labels[spec.target].append(spec.label)
    if len(labels) <= 1:
        return []
    odd_target = min(labels, key=lambda target: (len(labels[target]), target))
    return [
        f"built for {len(labels)} targets ({', '.join(sorted(labels))}); "
        f"the odd one: {labels[odd_target][0]} for {odd_target}"
    ]


def _spec_difference(base: Concrete, spec: Concrete) -> str:
    names = sorted({*base.parameters, *spec.parameters})
    parts = [
        f"{name}={spec.value(name)} instead of {base.value(name)}"
        for name in names
        if spec.parameters.get(name) != base.parameters.get(name)
    ]
    if spec.target != base.target:
        parts.append(f"target={spec.target} instead of {base.target}")
    return ", ".join(parts) or "a dependency"
