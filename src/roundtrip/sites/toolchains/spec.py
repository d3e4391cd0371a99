"""The toolchains that ``site-configs/toolchains.toml`` declares, and their parts on this machine.

A key is made from the content of all parts, so that a change of one of them makes a new build.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from roundtrip import files, paths, tables
from roundtrip.errors import UserError, user_error_from_os
from roundtrip.model import StrictRecord
from roundtrip.sites import machine, programs
from roundtrip.tables import TextList

#: In a campaign, the toolchains that `Catalogue.smoke_names` names.
SMOKE_CAMPAIGN = "smoke"


class MpiFamily(StrictRecord):
    """MPIs that are used in the same way.

    `compilers` is the prefix of the variables that name the compilers of the wrappers.  `answers`
    is the text before the version in the answer of ``MPI_Get_library_version``, without the colon
    and the blanks between them.
    `accepts` are the major versions that a distribution's own MPI may have.
    A `simulator` runs all ranks in one process, and its times come from a model; `definitions` are
    macros that its wrappers define; `configure` are variables that configure scripts need set.
    """

    title: str
    answers: str
    accepts: TextList = ()
    compilers: str = ""
    simulator: bool = False
    definitions: TextList = ()
    configure: TextList = ()


class _MpiTable(StrictRecord):
    """The origin of an MPI: one of the distribution's `packages`, a `wheel` with its `hashes`, or
    Debian packages that are `unpacked` and not installed.

    `boost` says whether Debian has a Boost.MPI for it; `netpipe` is Debian's NetPIPE program.
    """

    family: str
    series: str
    packages: TextList = ()
    wheel: str | None = None
    hashes: TextList = ()
    unpacked: TextList = ()
    distributions: TextList = ()
    without: TextList = ()
    boost: Literal["debian", "built"] = "built"
    netpipe: str | None = None


class _BoostTable(StrictRecord):
    series: str
    distributions: TextList


class _CatalogueFile(StrictRecord):
    family: dict[str, MpiFamily]
    mpi: dict[str, _MpiTable]
    boost: dict[str, _BoostTable]


class Mpi(_MpiTable):
    """An MPI of version `series`, major.minor; `is_available`: this machine can have it."""

    name: str
    family_table: MpiFamily
    is_available: bool

    @property
    def title(self) -> str:
        """``Open MPI 4.1``."""
        return f"{self.family_table.title} {self.series}"

    @property
    def pip_requirement(self) -> str | None:
        """Lines of a requirements file with the hashes of the wheel; None without a wheel."""
        hashes = [f"--hash={value}" for value in self.hashes]
        return " \\\n    ".join([self.wheel, *hashes]) + "\n" if self.wheel else None


@dataclass(frozen=True)
class Boost:
    """One Boost, e.g. of `series` 1.81; `is_available`: this distribution has it."""

    name: str
    series: str
    is_available: bool = True

    @property
    def version(self) -> str:
        return f"{self.series}.0"


@dataclass(frozen=True)
class Toolchain:
    """An MPI with a Boost."""

    mpi: Mpi
    boost: Boost

    @property
    def name(self) -> str:
        return f"{self.mpi.name}-{self.boost.name}"


@dataclass(frozen=True)
class Catalogue:
    """All MPIs, Boosts and families by name, in the order of the file, also unavailable ones."""

    mpis: dict[str, Mpi]
    boosts: dict[str, Boost]
    families: dict[str, MpiFamily]

    @property
    def toolchains(self) -> dict[str, Toolchain]:
        pairs = itertools.product(self.mpis.values(), self.boosts.values())
        return {toolchain.name: toolchain for toolchain in itertools.starmap(Toolchain, pairs)}

    @property
    def available_toolchains(self) -> list[Toolchain]:
        toolchains = self.toolchains.values()
        return [item for item in toolchains if item.mpi.is_available and item.boost.is_available]

    @property
    def smoke_names(self) -> tuple[str, ...]:
        """Toolchains of campaign `smoke`: the distribution's MPI of each family, or a wheel."""
        mpi_by_family: dict[str, Mpi] = {}
        for mpi in self.mpis.values():
            is_first = mpi.family not in mpi_by_family
            if mpi.is_available and not mpi.family_table.simulator and (mpi.packages or is_first):
                mpi_by_family[mpi.family] = mpi
        return tuple(f"{mpi.name}-{self.newest_boost.name}" for mpi in mpi_by_family.values())

    @property
    def newest_boost(self) -> Boost:
        """The newest Boost here; programs that do not use Boost are measured with it only."""
        boosts = list(self.boosts.values())
        return ([boost for boost in boosts if boost.is_available] or boosts)[-1]

    def select(self, names: Sequence[str], everything: bool = False) -> list[Toolchain]:
        """Return the toolchains `names` (`smoke` if empty), or `everything` except simulators;
        UserError lists the legal names."""
        toolchains = self.toolchains
        if everything:
            return [
                item for item in self.available_toolchains if not item.mpi.family_table.simulator
            ]
        for name in names:
            if name not in toolchains:
                raise UserError(f"unknown toolchain {name!r}; toolchains: {', '.join(toolchains)}")
        return [toolchains[name] for name in dict.fromkeys(names or self.smoke_names)]


def read_catalogue(checkout: Path | None = None) -> Catalogue:
    """Read the toolchains of `checkout`, by default this one; UserError with a fault's line."""
    return read_catalogue_file((checkout or paths.checkout()) / "site-configs" / "toolchains.toml")


def read_catalogue_file(file: Path) -> Catalogue:
    """Read the toolchains that `file` declares; UserError with the line of the first fault."""
    data, key_lines = tables.read_toml(file)
    content = tables.validate_table(data, _CatalogueFile, key_lines, file)
    for table_name, names in (("mpi", [*content.mpi]), ("boost", [*content.boost])):
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9]*", name):  # ReFrame accepts it in longer names
                message = f"'{name}' is no name: lower-case letters and digits only, a letter first"
                raise tables.error_at_key(message, (table_name, name), key_lines, file)
    if not content.boost or not content.mpi:
        raise UserError("no toolchain: it needs an [mpi.NAME] and a [boost.NAME]", file)
    distribution = machine.distribution_name()
    mpis = {}
    for name, table in content.mpi.items():
        if fault := _mpi_fault(table, content):
            raise tables.error_at_key(
                f"mpi.{name}: {fault[1]}", ("mpi", name, fault[0]), key_lines, file
            )
        is_listed = not table.distributions or distribution in table.distributions
        is_available = is_listed and distribution not in table.without
        family = content.family[table.family]
        mpis[name] = Mpi(
            name=name, family_table=family, is_available=is_available, **table.model_dump()
        )
    distribution_mpis = [mpi for mpi in mpis.values() if mpi.packages]
    packages = [name for mpi in distribution_mpis for name in mpi.packages]
    versions = machine.installed_packages(packages) or {}
    for mpi in distribution_mpis:
        local_mpi = _distribution_mpi(mpi, versions) if mpi.is_available else None
        mpis[mpi.name] = mpi.model_copy(update={"is_available": False})
        mpis |= {local_mpi.name: local_mpi} if local_mpi else {}
    boosts = {
        name: Boost(name, boost.series, distribution in boost.distributions)
        for name, boost in content.boost.items()
    }
    return Catalogue(mpis, boosts, content.family)


def _distribution_mpi(mpi: Mpi, versions: Mapping[str, str]) -> Mpi | None:
    """Return `mpi` in the version that this distribution has installed; None if it has none."""
    version = next((versions[name] for name in mpi.packages if name in versions), "")
    numbers = machine.upstream_version(version).split(".")
    if numbers[0] not in mpi.family_table.accepts:
        return None
    series = ".".join(numbers[:2])
    name = f"{mpi.family}{series.replace('.', '')}"
    return mpi.model_copy(update={"name": name, "series": series})


def _mpi_fault(mpi: _MpiTable, content: _CatalogueFile) -> tuple[str, str] | None:
    """Return the key at fault ("" for the table) and the reason; None if `mpi` is valid."""
    if mpi.family not in content.family:
        legal = ", ".join(content.family)
        return "family", f"unknown family '{mpi.family}'; there are: {legal}"
    if sum((bool(mpi.packages), mpi.wheel is not None, bool(mpi.unpacked))) != 1:
        return "", "it needs one of `packages`, `wheel` and `unpacked`: where it comes from"
    if mpi.wheel is not None:
        if not re.fullmatch(r"[\w.-]+==[\w.]+", mpi.wheel):
            return "wheel", f"wheel = '{mpi.wheel}' is not NAME==VERSION"
        if not mpi.hashes or not all(h.startswith("sha256:") for h in mpi.hashes):
            return "hashes", "a wheel needs `hashes`, each beginning with sha256:"
    return None


def is_library_version(library: str, prefix: str, version: str, exactly: bool = False) -> bool:
    """Whether the description `library` of an MPI library begins with `prefix`, optional blanks and
    colons, and `version`; unless `exactly`, further parts of the version may follow."""
    end = r"(?!\.?\d)" if exactly else r"(?!\d)"
    return re.match(re.escape(prefix) + r"[\s:]*" + re.escape(version) + end, library) is not None


#: Increase it when the build steps change in a way that no other input of the keys shows.
RECIPE_VERSION = 1
CC, CXX = "/usr/bin/gcc", "/usr/bin/g++"
#: Debian's own flags for Boost, so that Debian's Boost.MPI and ours differ only in the MPI.
BOOST_COMPILE_FLAGS = (
    *("-std=gnu++17", "-O2", "-g0", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"),
    *("-DNDEBUG", "-fPIC", "-pthread"),
)
SPACK_REMEDY = "or build with Spack: spack env activate . && spack install"


def content_key(inputs: Mapping[str, object]) -> str:
    """Return 16 hex digits of the SHA-256 of `inputs`, the parts of a build, as canonical JSON."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return files.sha256(text.encode())[:16]


@dataclass(frozen=True)
class ResolvedMpi:
    """An MPI as it is on this machine: `origin` for people, `key` of its folder in the store."""

    mpi: Mpi
    version: str
    origin: str
    key: str


@dataclass(frozen=True)
class ToolchainPlan:
    """A toolchain as it would be built now; `compiler` is a version, `key` that of its folder."""

    toolchain: Toolchain
    mpi: ResolvedMpi
    compiler: str
    key: str

    @property
    def uses_debian_boost(self) -> bool:
        """Whether Debian has a Boost.MPI that is linked with this MPI."""
        return self.toolchain.mpi.boost == "debian" and has_apt()


def has_apt() -> bool:
    """Whether Boost comes from packages of Debian or Ubuntu."""
    return shutil.which("apt-get") is not None


@cache
def compiler_version() -> str:
    """Version of the C++ compiler, e.g. 12.2.0; UserError without one."""
    try:
        run = subprocess.run([CXX, "-dumpfullversion"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UserError(f"no compiler {CXX}: run `make setup`, {SPACK_REMEDY}") from None
    return run.stdout.strip()


def resolve_mpi(mpi: Mpi) -> ResolvedMpi:
    """Return an MPI as it is here; UserError if its package is missing, or of another series."""
    if mpi.packages:
        versions = machine.installed_packages(mpi.packages) or {}
        package = next((name for name in mpi.packages if name in versions), None)
        if package is None:
            names = " or ".join(mpi.packages)
            raise UserError(f"{mpi.name} needs package {names}: run `make setup`, {SPACK_REMEDY}")
        release = versions[package]
        version = machine.upstream_version(release)
        origin = f"{machine.distributor_name()} {package} {release}"
    elif mpi.unpacked:
        # Only the download shows the version of Debian's package; all are of this series.
        version, origin = mpi.series, f"Debian {mpi.unpacked[0]} {mpi.series}, unpacked"
    else:
        wheel, version = (mpi.wheel or "").split("==")
        origin = f"PyPI {wheel} {version}"
    if not f"{version}.".startswith(f"{mpi.series}."):
        raise UserError(f"{mpi.name} needs version {mpi.series}, not {origin}; {SPACK_REMEDY}")
    inputs: dict[str, object] = {"recipe": RECIPE_VERSION, "unit": mpi.name, "origin": origin}
    inputs |= {"pin": mpi.pip_requirement, "cxx": CXX}
    if mpi.unpacked:
        inputs |= {"unpacked": mpi.unpacked, "definitions": mpi.family_table.definitions}
    return ResolvedMpi(mpi, version, origin, content_key(inputs))


def toolchain_plan(toolchain: Toolchain) -> ToolchainPlan:
    """Return the plan of one toolchain; UserError if this machine cannot have it."""
    mpi = resolve_mpi(toolchain.mpi)
    compiler = compiler_version()
    inputs = {
        "recipe": RECIPE_VERSION,
        "unit": toolchain.name,
        "mpi": mpi.key,
        "boost": toolchain.boost.version,
        "compiler": [CXX, compiler],
        "flags": BOOST_COMPILE_FLAGS,
        **_boost_tar_digest(),
    }
    return ToolchainPlan(toolchain, mpi, compiler, content_key(inputs))


def boost_part_key(boost: Boost, part: str) -> str:
    """The key of Boost's headers or sources (`part`); UserError for an unreadable tar file."""
    return content_key(
        {"recipe": RECIPE_VERSION, "unit": part, "boost": boost.version, **_boost_tar_digest()}
    )


def user_boost_tar() -> Path | None:
    """Return the tar file of Boost that ``$ROUNDTRIP_BOOST`` names, if any."""
    name = os.environ.get("ROUNDTRIP_BOOST")
    return Path(name) if name else None


def _boost_tar_digest() -> dict[str, object]:
    """Return the digest of the user's tar file of Boost, or {}; UserError if it cannot be read."""
    tar_file = user_boost_tar()
    if tar_file is None:
        return {}
    try:
        with tar_file.open("rb"):  # for the reason, where `digest` gives none
            digest = programs.cached_sha256(tar_file)
    except OSError as error:
        raise user_error_from_os(error, tar_file) from None
    if digest is None:
        raise UserError("cannot be read to its end", tar_file)
    return {"tar": digest}
