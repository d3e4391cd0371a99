"""Reads a ``spack.lock`` and checks that every name of an MPI in it stands for exactly one build.

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
class ConcreteSpec:
    """A concrete spec; `external` is its prefix if Spack did not build it, `dependencies` are
    tuples (name, hash, virtual packages that it provides to this spec)."""

    hash: str
    name: str
    version: str
    target: str
    parameters: dict[str, Any]
    external: str | None
    dependencies: tuple[tuple[str, str, tuple[str, ...]], ...]

    @property
    def name_version(self) -> str:
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
class SpackLock:
    """A lock file: its roots in order, and its concrete specs by hash."""

    file: Path
    roots: tuple[RootSpec, ...]
    specs: dict[str, ConcreteSpec]

    def closure(self, start: str) -> Iterator[ConcreteSpec]:
        """Yield the spec of hash `start` and all its dependencies, direct or not, each once."""
        queue, hashes = [start], {start}
        while queue:
            spec = self.specs[queue.pop()]
            yield spec
            for _, hash_, _ in spec.dependencies:
                if hash_ not in hashes:
                    hashes.add(hash_)
                    queue.append(hash_)

    @cached_property
    def mpi_by_hash(self) -> dict[str, ConcreteSpec]:
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

    def find_mpi(self, hash_: str) -> ConcreteSpec | None:
        """Return the MPI among the spec `hash_` and its dependencies; None if there is none."""
        return next((spec for spec in self.closure(hash_) if spec.hash in self.mpi_by_hash), None)


def read_lock(file: Path) -> SpackLock:
    """Read the lock file `file`; UserError if it is invalid or refers to specs that it lacks."""
    if not file.is_file():
        raise UserError("no lock file: run `spack concretize` in the environment first", file)
    content = files.read_json(file)
    try:
        specs = {}
        for hash_, entry in content["concrete_specs"].items():
            # Spack writes a generic target as a word, others as an object with a name.
            target = entry.get("arch", {}).get("target", "")
            specs[hash_] = ConcreteSpec(
                hash=hash_,
                name=entry["name"],
                version=str(entry["version"]),
                target=str(target["name"] if isinstance(target, dict) else target),
                parameters=entry.get("parameters", {}),
                external=(entry.get("external") or {}).get("path"),
                dependencies=tuple(
                    (
                        edge["name"],
                        _require_text_hash(edge["hash"]),
                        tuple(edge["parameters"].get("virtuals", ())),
                    )
                    for edge in entry.get("dependencies", ())
                ),
            )
        roots = tuple(
            RootSpec(root["spec"], _require_text_hash(root["hash"])) for root in content["roots"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"not a Spack lock file ({type(error).__name__}: {error})", file) from None
    hashes = set(specs)
    references = {r.hash for r in roots} | {d[1] for s in specs.values() for d in s.dependencies}
    for reference in sorted(references - hashes):
        raise UserError(f"truncated: it refers to {reference[:7]!a} and does not hold it", file)
    return SpackLock(file, roots, specs)


def _require_text_hash(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a hash is text, not {value!r:.40}")
    return value


def describe_extra_builds(
    lock: SpackLock, name_of: Callable[[ConcreteSpec], str] | None = None
) -> list[str]:
    """Return a line for each build of an MPI besides the most used one of the same name: `name_of`,
    by default name and version."""
    builds: dict[str, list[ConcreteSpec]] = defaultdict(list)
    for spec in lock.mpi_by_hash.values():
        builds[name_of(spec) if name_of else spec.name_version].append(spec)
    lines = []
    for name, specs in sorted(builds.items()):
        if len(specs) == 1:
            continue
        base, *extra_builds = sorted(
            specs, key=lambda spec: (-len(lock.roots_using(spec.hash)), spec.hash)
        )
        for spec in extra_builds:
            roots = lock.roots_using(spec.hash)
            lines.append(
                f"{name} is {len(specs)} builds: {base.hash[:7]} "
                f"({len(lock.roots_using(base.hash))} roots), and the odd one {spec.hash[:7]} in "
                f"{len(roots)}: {roots[0].spec}; "
                f"it differs in {_describe_spec_difference(base, spec)}: "
                "pin it with `require:`, or tell the two apart with `label` in site.toml"
            )
    return lines


def describe_mixed_targets(lock: SpackLock) -> list[str]:
    """Return a line if MPIs and the roots that use them are built for several target processors."""
    names_by_target: dict[str, list[str]] = defaultdict(list)
    for hash_ in sorted({*lock.mpi_by_hash, *(root.hash for root in lock.roots)}):
        spec = lock.specs[hash_]
        if spec.external is None and (hash_ in lock.mpi_by_hash or lock.find_mpi(hash_)):
            names_by_target[spec.target].append(spec.name_version)
    if len(names_by_target) <= 1:
        return []
    rarest_target = min(names_by_target, key=lambda target: (len(names_by_target[target]), target))
    return [
        f"built for {len(names_by_target)} targets ({', '.join(sorted(names_by_target))}); "
        f"the odd one: {names_by_target[rarest_target][0]} for {rarest_target}"
    ]


def _describe_spec_difference(base: ConcreteSpec, spec: ConcreteSpec) -> str:
    names = sorted({*base.parameters, *spec.parameters})
    parts = [
        f"{name}={spec.value(name)} instead of {base.value(name)}"
        for name in names
        if spec.parameters.get(name) != base.parameters.get(name)
    ]
    if spec.target != base.target:
        parts.append(f"target={spec.target} instead of {base.target}")
    return ", ".join(parts) or "a dependency"
