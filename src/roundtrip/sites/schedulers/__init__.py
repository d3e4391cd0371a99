"""The schedulers that a site may name, each behind the interface of `interface`.

A new one is a module with a subclass of `Scheduler`, and an entry in `SCHEDULERS`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import LauncherOptions, Scheduler
from roundtrip.sites.schedulers.slurm import Slurm
from roundtrip.sites.site import Site

SCHEDULERS: tuple[Scheduler, ...] = (Slurm(),)
#: A machine without a scheduler.
NO_SCHEDULER = Scheduler()


def scheduler_of_partition(partition: Mapping[str, Any]) -> Scheduler:
    """Return the scheduler of a partition in ReFrame's configuration."""
    return scheduler_of_reframe_name(partition["scheduler"])


def scheduler_of_site(partitions: Mapping[str, Mapping[str, Any]]) -> Scheduler:
    """Return the one scheduler of the partitions of a site; `NO_SCHEDULER` without one."""
    return scheduler_of_reframe_names(partition["scheduler"] for partition in partitions.values())


def scheduler_of_reframe_names(names: Iterable[str]) -> Scheduler:
    """Return the first scheduler to which ReFrame's schedulers `names` submit."""
    candidates = map(scheduler_of_reframe_name, names)
    return next((item for item in candidates if item.allocates_nodes), NO_SCHEDULER)


def scheduler_of_reframe_name(scheduler: str, launcher: str = "") -> Scheduler:
    """The scheduler to which ReFrame's `scheduler` submits, or whose steps `launcher` starts."""
    for item in SCHEDULERS:
        if scheduler in item.reframe_schedulers or launcher in item.step_launchers:
            return item
    return NO_SCHEDULER


def scheduler_of_key(key: object) -> Scheduler:
    """Return the scheduler that case.json names `key`."""
    return next((item for item in SCHEDULERS if item.key == key), NO_SCHEDULER)


def options_of_launcher(launcher: str) -> LauncherOptions | None:
    """Return the options of `launcher` if it belongs to a scheduler, else None."""
    for item in SCHEDULERS:
        if launcher in (item.launcher, *item.step_launchers):
            return item.launcher_options
    return None


def scheduler_of_site_here(name: str) -> Scheduler:
    """Return the scheduler that site `name` declares; the installed one if it cannot be read."""
    try:
        site = Site(name, paths.checkout())
        if not site.site_data:
            return scheduler_of_site(site.partitions)
        names = [item.scheduler for item in site.site_data.partition.values()]
    except UserError:
        return installed_scheduler()
    return scheduler_of_reframe_names(names)


def installed_scheduler() -> Scheduler:
    """The scheduler whose commands are in PATH, else `NO_SCHEDULER`; UserError for several."""
    installed_schedulers = [item for item in SCHEDULERS if any(map(shutil.which, item.commands))]
    if len(installed_schedulers) > 1:
        titles = " and ".join(item.title for item in installed_schedulers)
        raise UserError(f"PATH has commands of {titles}: leave in it those of one of them")
    return installed_schedulers[0] if installed_schedulers else NO_SCHEDULER


def current_job_id() -> str | None:
    """Return the number of the job that runs this process; None outside of a job."""
    return next(filter(None, (item.current_job_id() for item in SCHEDULERS)), None)
