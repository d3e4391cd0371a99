"""Whether Spack has installed what a site runs with; checked before anything is launched.

A lock file of another site, or of an older ``spack.yaml``, would put wrong labels on all numbers.
"""

from __future__ import annotations

import os

from roundtrip.campaign.site import Site
from roundtrip.errors import UserError
from roundtrip.sites import data, matrix, software, spack, toolchains
from roundtrip.sites import lock as locks
from roundtrip.sites.lock import Lock


def require(site: Site) -> None:
    """UserError, which says what to do next, unless the site is ready.

    A site without a Spack part always is.
    """
    if site.spack is None:
        return
    file = toolchains.active_lock()
    if file is None:
        raise UserError(_no_lock(site))
    lock = locks.read(file)
    require_current(lock, site)
    declared = data.from_folder(site.folder, site.checkout)
    if split := software.split(lock, declared.label if declared else ()):
        raise UserError(split[0], file)
    odd = software.one_to_one(lock, list(site.toolchains.values()))
    if faults := [finding.detail for finding in odd if finding.verdict == "fault"]:
        raise UserError(faults[0], file)
    if not any(partition["environs"] for partition in site.partitions.values()):
        raise UserError("none of its toolchains is installed: run `spack install`", file)


def require_current(lock: Lock, site: Site) -> None:
    """UserError if `lock` is not what spack.yaml asks for on `site`, which has a Spack part."""
    defined = matrix.definitions(site.spack or site.folder)
    wanted = matrix.expand(site.checkout / "spack.yaml", defined)
    if stale := matrix.mismatches(lock, wanted):
        raise UserError(
            f"does not match spack.yaml on site '{site.name}': {stale[0]}; "
            f"`. site-configs/activate {site.name}`, then `spack concretize -f`",
            lock.file,
        )


def _no_lock(site: Site) -> str:
    folder = os.environ.get("SPACK_ENV")
    if folder:
        return f"the Spack environment {folder} is not concretized: run `spack concretize`"
    oldest = ".".join(map(str, spack.OLDEST))
    if spack.find() is None:  # one that is too old is an error of its own
        return (
            f"site '{site.name}' has its toolchains from Spack, and there is no `spack` in PATH "
            f"or SPACK_ROOT: {oldest} or newer is needed"
        )
    return f"site '{site.name}' needs an active Spack environment: run `spack env activate .`"
