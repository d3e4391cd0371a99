"""The schedulers that a site may name, each behind the interface of `interface`.

A new one is a module with a subclass of `Scheduler`, and an entry in `ALL`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from roundtrip.sites.schedulers.interface import LauncherOptions, Scheduler
from roundtrip.sites.schedulers.slurm import Slurm

ALL: tuple[Scheduler, ...] = (Slurm(),)
#: A machine without a scheduler.
LOCAL = Scheduler()


def scheduler_of(partition: Mapping[str, Any]) -> Scheduler:
    """Return the scheduler of a partition in ReFrame's configuration."""
    return by_reframe(partition["scheduler"])


def of_site(partitions: Mapping[str, Mapping[str, Any]]) -> Scheduler:
    """Return the scheduler of a site's partitions, of which a site has at most one."""
    return of_names(partition["scheduler"] for partition in partitions.values())


def of_names(names: Iterable[str]) -> Scheduler:
    """Return the first scheduler to which those of ReFrame with these `names` submit."""
    return next((item for item in map(by_reframe, names) if item.allocates), LOCAL)


def by_reframe(scheduler: str, launcher: str = "") -> Scheduler:
    """Return the scheduler to which ReFrame's `scheduler` submits, or whose steps its `launcher`
    starts."""
    for item in ALL:
        if scheduler in item.reframe_schedulers or launcher in item.step_launchers:
            return item
    return LOCAL


def by_key(key: object) -> Scheduler:
    """Return the scheduler that case.json names `key`."""
    return next((item for item in ALL if item.key == key), LOCAL)


def launcher_options(launcher: str) -> LauncherOptions | None:
    """Return the options of `launcher` if it is that of a scheduler; None if it is another."""
    for item in ALL:
        if launcher in (item.launcher, *item.step_launchers):
            return item.launcher_options
    return None


def here() -> Scheduler:
    """Return the scheduler whose commands this machine has, by default the first."""
    found = (item for item in ALL if any(map(shutil.which, item.commands)))
    return next(found, ALL[0])


def own_job() -> str | None:
    """Return the number of the job that runs this process; None outside of a job."""
    return next(filter(None, (item.own_job() for item in ALL)), None)


def titles() -> str:
    """Return the names of all schedulers, for a message."""
    return " or ".join(item.title for item in ALL)
