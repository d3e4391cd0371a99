"""Repeats the partitions of a site for each Slurm partition that it names.

The first ``[slurm_partition.NAME]`` has the partitions under their own names, ``ib-rc``; each
other one has them again as ``ib-rc-NAME``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from roundtrip.tables import Path_, Places

#: Key of a repeated partition with its own placeholders.
VALUES = "values of its Slurm partition"
#: What a Slurm partition says of its nodes; any other key is a placeholder.
_SIZE = ("nodes", "cores", "sockets")


def spread(
    partitions: Mapping[str, Any], slurms: Mapping[str, Mapping[str, Any]], places: Places
) -> dict[str, Any]:
    """Each of the `partitions` for each of the `slurms`; as they are without any.

    Adds the places of the copies to `places`.
    """
    if not slurms:
        return dict(partitions)
    found: dict[str, Any] = {}
    for number, (name, said) in enumerate(slurms.items()):
        suffix = "-" + re.sub(r"[^\w-]", "-", name) if number else ""
        size = {key: value for key, value in said.items() if key in _SIZE}
        values = {key: str(value) for key, value in said.items() if key not in _SIZE}
        for key, table in partitions.items():
            copy = key + suffix
            _copy_places(places, key, copy)
            if not isinstance(table, Mapping):  # told by whoever validates it
                found[copy] = table
                continue
            extras = {**table.get("extras", {}), **size}
            found[copy] = {**table, "extras": extras, VALUES: {"partition": name, **values}}
    return found


def _copy_places(places: Places, key: str, copy: str) -> None:
    own: list[tuple[Path_, Any]] = [
        (path, place) for path, place in places.items() if path[:2] == ("partition", key)
    ]
    for path, place in own:
        places.setdefault(("partition", copy, *path[2:]), place)
