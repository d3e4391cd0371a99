"""Reads ``site-configs/<site>/site.toml``: laid over its bases, with placeholders filled in; and
sets keys in its text, where comments and all else stay.

The first ``[scheduler_partition.NAME]`` has the partitions of the site under their own names,
``ib-rc``; each other one repeats them as ``ib-rc-NAME``.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files, tables
from roundtrip.errors import UserError
from roundtrip.sites.data import DESCRIPTION_BY_MERGED_KEY, SiteData
from roundtrip.tables import KeyLines, KeyPath

#: Called with a message and the path of a key; returns the error at its line.
_ErrorAt = Callable[[str, KeyPath], UserError]
#: The content of a file, and its lines.
_Layer = tuple[dict[str, Any], KeyLines]
#: Key of a repeated partition that holds the placeholders of its scheduler partition.
_PLACEHOLDERS_KEY = "values of its scheduler partition"
#: Former names, which are read with a warning: keys, and a single `base` that lay over Slurm's.
_KEY_BY_FORMER_NAME = {"slurm_partition": "scheduler_partition"}
_BASES_BY_FORMER_BASE = {
    "slurm-ucx": ("slurm", "ucx"),
    **{name: ("slurm", name) for name in ("rdma", "infiniband", "roce", "ethernet", "tcp")},
}
#: Keys of a scheduler partition that are the size of its nodes; any other key is a placeholder.
_SIZE_KEYS = ("nodes", "cores", "sockets")
_PLACEHOLDER_PATTERN = re.compile(r"\{(\w+)\}")


def read_site_data(
    file: Path, checkout: Path, warn: Callable[[str], object] = lambda text: None
) -> SiteData:
    """The site in `file`; UserError with file and line of the first fault.  `warn` is called with
    one line about the former spellings, if there are any."""
    data: dict[str, Any] = {}
    key_lines: KeyLines = {}
    former_spellings: list[UserError] = []
    folder = checkout / "site-configs" / "base"
    for layer, lines in _read_layers(file, folder, set(), former_spellings):
        data, key_lines = tables.merge_tables(data, layer), {**key_lines, **lines}
    error_at = functools.partial(tables.error_at_key, key_lines=key_lines, file=file)
    if former_spellings:
        first, *others = former_spellings
        places = ", ".join(f"{item.file}:{item.line}" for item in others)
        warn(f"{first}{f'; former spellings are also in {places}' if places else ''}")
    legal = sorted({*SiteData.model_fields, *DESCRIPTION_BY_MERGED_KEY})
    for key in data:
        if key not in legal:
            raise error_at(f"unknown key '{key}'; legal are {', '.join(legal)}", (key,))
    values, defaults, scheduler_partitions = (
        data.pop(key, {}) for key in ("values", "every_partition", "scheduler_partition")
    )
    nested = scheduler_partitions.values() if isinstance(scheduler_partitions, dict) else ()
    if not all(
        isinstance(item, dict) for item in (values, defaults, scheduler_partitions, *nested)
    ):
        message = "`values`, `every_partition` and each `scheduler_partition` are tables"
        raise error_at(message, ("values",))
    placeholders = {
        **{key: str(value) for key, value in values.items()},
        "site": file.parent.name,
        "checkout": shlex.quote(str(checkout)),
    }
    if scheduler_partitions:
        placeholders = {"partition": next(iter(scheduler_partitions)), **placeholders}
    partitions: Any = data.pop("partition", {})
    if not partitions:
        message = "no partition: after the scheduler's base comes a fabric's, as in "
        message += 'base = ["slurm", "infiniband"]; or write a table [partition.NAME]'
        raise error_at(message, ("base",))
    if isinstance(partitions, dict):
        partitions = _repeat_partitions(partitions, scheduler_partitions, key_lines)
        _inherit_key_lines(key_lines, partitions)
        for key, table in partitions.items():
            if not isinstance(table, dict):
                continue
            local_placeholders = {**placeholders, **table.pop(_PLACEHOLDERS_KEY, {})}
            table = tables.merge_tables(defaults, table)
            if "scheduler" not in table and ("base",) in key_lines:
                message = f"partition '{key}' has no `scheduler`: the base of one is the first of "
                message += 'several, as in base = ["slurm", "infiniband"]'
                raise error_at(message, ("base",))
            partitions[key] = _fill_partition(key, table, local_placeholders, error_at)
    content = _fill_placeholders(data, placeholders, (), error_at)
    site = tables.validate_table({**content, "partition": partitions}, SiteData, key_lines, file)
    _require_declared_conditions(site, error_at)
    return site


def _read_layers(
    file: Path, folder: Path, known: set[str], former_spellings: list[UserError]
) -> list[_Layer]:
    """Return the content of the bases of `file` that are not `known` yet, in order, then its own,
    each with its lines.  Append what has a former spelling, and its place, to `former_spellings`.
    """
    data, key_lines = tables.read_toml(file)
    error_at = functools.partial(tables.error_at_key, key_lines=key_lines, file=file)
    for former, key in _KEY_BY_FORMER_NAME.items():
        if former in data:
            notice = error_at(f"{former} is called {key} now", (former,))
            if key in data:
                raise notice
            former_spellings.append(notice)
            data[key] = data.pop(former)
            lines = [item for item in key_lines.items() if item[0][0] == former]
            key_lines |= {(key, *path[1:]): source_line for path, source_line in lines}
    bases = sorted(path.stem for path in folder.glob("*.toml"))
    names = data.pop("base", [])
    if isinstance(names, str):
        successors = _BASES_BY_FORMER_BASE.get(names, (names,))
        # A campaign folder that an earlier version laid out has the former files.
        names = [*successors] if {*successors} <= {*bases} else [names]
        notice = error_at(f"base is a list now: base = {json.dumps(names)}", ("base",))
        former_spellings.append(notice)
    layers_by_base: dict[str, list[_Layer]] = {}
    for name in names if isinstance(names, list) else [names]:
        if name not in bases:
            message = f"base: there is no '{name}'; there are: {', '.join(bases)}"
            raise error_at(message, ("base",))
        if name not in known:
            known.add(name)
            layers_by_base[name] = _read_layers(
                folder / f"{name}.toml", folder, known, former_spellings
            )
    if fault := _base_order_fault(layers_by_base):
        raise error_at(f"base: {fault}", ("base",))
    return [*itertools.chain(*layers_by_base.values()), (data, key_lines)]


def _base_order_fault(layers_by_base: Mapping[str, Sequence[_Layer]]) -> str:
    """What is wrong with bases: two fabrics, or one before the scheduler's; "" if nothing."""

    def has_key(name: str, table: str, key: str) -> bool:
        values = (layer.get(table) for layer, _ in layers_by_base[name])
        return any(isinstance(value, dict) and key in value for value in values)

    names = [*layers_by_base]
    schedulers = [name for name in names if has_key(name, "every_partition", "scheduler")]
    fabrics = [
        name
        for name in names
        if has_key(name, "values", "fabric")
        and any("partition" in layer for layer, _ in layers_by_base[name])
    ]
    if len(fabrics) > 1:
        return f"'{fabrics[0]}' and '{fabrics[1]}' are fabrics: right is one"
    if fabrics and schedulers and names.index(fabrics[0]) < names.index(schedulers[0]):
        names.insert(0, names.pop(names.index(schedulers[0])))
        return f"the scheduler's comes before the fabric's: base = {json.dumps(names)}"
    return ""


def _repeat_partitions(
    partitions: Mapping[str, Any],
    scheduler_partitions: Mapping[str, Mapping[str, Any]],
    key_lines: KeyLines,
) -> dict[str, Any]:
    """Return `partitions` once for each of `scheduler_partitions`, if any; add to `key_lines`."""
    if not scheduler_partitions:
        return dict(partitions)
    copies: dict[str, Any] = {}
    for number, (name, own_table) in enumerate(scheduler_partitions.items()):
        suffix = "-" + re.sub(r"[^\w-]", "-", name) if number else ""
        size = {key: value for key, value in own_table.items() if key in _SIZE_KEYS}
        values = {key: str(value) for key, value in own_table.items() if key not in _SIZE_KEYS}
        for key, table in partitions.items():
            copy = key + suffix
            for path, source_line in list(key_lines.items()):
                if path[:2] == ("partition", key):
                    key_lines.setdefault(("partition", copy, *path[2:]), source_line)
            if not isinstance(table, Mapping):  # a fault that is named later
                copies[copy] = table
                continue
            extras = table.get("extras", {})
            if isinstance(extras, Mapping):  # as above
                extras = {**extras, **size}
            for size_key in size:
                if source := key_lines.get(("scheduler_partition", name, size_key)):
                    key_lines[("partition", copy, "extras", size_key)] = source
            placeholders = {"partition": name, **values}
            copies[copy] = {**table, "extras": extras, _PLACEHOLDERS_KEY: placeholders}
    return copies


def _fill_partition(
    key: str, table: dict[str, Any], placeholders: dict[str, str], error_at: _ErrorAt
) -> dict[str, Any]:
    """Return the `table` of partition `key` filled in; its own extras are placeholders, too."""
    path: KeyPath = ("partition", key)
    extras_path = (*path, "extras")
    if not isinstance(extras := table.get("extras", {}), dict):
        message = f"partition.{key}.extras: input should be a table, not {extras!r:.60}"
        raise error_at(message, extras_path)
    extras = _fill_placeholders(extras, placeholders, extras_path, error_at)
    extra_texts = {name: value for name, value in extras.items() if isinstance(value, str)}
    name = str(table.get("name", key))
    account = os.environ.get("ROUNDTRIP_ACCOUNT", "")
    placeholders = {**placeholders, **extra_texts, "name": name, "account": account}
    other_fields = {field: value for field, value in table.items() if field != "extras"}
    filled_fields = _fill_placeholders(other_fields, placeholders, path, error_at)
    return {"name": name, **filled_fields, "extras": extras}


def _inherit_key_lines(key_lines: KeyLines, partitions: Iterable[str]) -> None:
    """Add the lines of the keys that each partition inherits from `every_partition`."""
    default_lines = [item for item in key_lines.items() if item[0][0] == "every_partition"]
    for key in partitions:
        for path, source_line in default_lines:
            if path[1:]:
                key_lines.setdefault(("partition", key, *path[1:]), source_line)


def _fill_placeholders(
    value: Any, placeholders: dict[str, str], path: KeyPath, error_at: _ErrorAt
) -> Any:
    """Return `value` with its placeholders filled in, except in texts of keys `across`."""
    if isinstance(value, dict):
        return {
            key: _fill_placeholders(item, placeholders, (*path, key), error_at)
            for key, item in value.items()
        }
    if isinstance(value, list):
        items = value[1:] if tables.LIST_BELOW in value[:1] else value
        if tables.LIST_BELOW in items:
            message = f'"{tables.LIST_BELOW}" is the first item of a list that extends another'
            raise error_at(message, path)
        return [_fill_placeholders(item, placeholders, path, error_at) for item in items]
    if not isinstance(value, str) or path[-1:] == ("across",):
        return value
    for name in _PLACEHOLDER_PATTERN.findall(value):
        if name not in placeholders:
            message = f"unknown placeholder {{{name}}}; legal are {', '.join(sorted(placeholders))}"
            raise error_at(message, path)
    return _PLACEHOLDER_PATTERN.sub(lambda match: placeholders[match[1]], value)


def _require_declared_conditions(site: SiteData, error_at: _ErrorAt) -> None:
    """UserError if a partition or transport names a condition that `site` does not declare."""
    references: list[tuple[str, KeyPath]] = []
    for key, partition in site.partition.items():
        path: KeyPath = ("partition", key)
        references += [(name, (*path, "scheduler_if")) for name in partition.scheduler_if]
        references += [(partition.only_if, (*path, "only_if"))] if partition.only_if else []
        references += [(partition.unless, (*path, "unless"))] if partition.unless else []
    for key, transport in site.transport.items():
        references += [(transport.unless, ("transport", key))] if transport.unless else []
    for name, path in references:
        if name not in site.condition:
            legal = ", ".join(site.condition) or "none"
            message = f"unknown condition '{name}'; there are: {legal}"
            raise error_at(message, path)


@dataclass(frozen=True)
class SettingLine:
    """A line of site.toml that sets `key` of a `table` ("": before all tables) to `value`."""

    table: str
    key: str
    value: str | list[str]

    def __str__(self) -> str:
        return f"{f'[{self.table}] ' if self.table else ''}{self._assignment}"

    def is_in(self, content: Mapping[str, Any]) -> bool:
        """Whether the `content` of a site.toml has this value."""
        value: Any = content
        for name in filter(None, (*self.table.split("."), self.key)):
            value = value.get(name) if isinstance(value, Mapping) else None
        return bool(value == self.value)

    @property
    def _assignment(self) -> str:
        return f"{self.key} = {json.dumps(self.value)}"

    def apply_to(self, text: str) -> str:
        """Return the `text` of a site.toml with this line in it."""
        begin, end = _table_body_span(text, self.table)
        if begin is None:
            return f"{text.rstrip()}\n\n[{self.table}]\n{self._assignment}\n"
        body, line = text[begin:end], self._assignment
        pattern = re.compile(rf"^{re.escape(self.key)}[ \t]*=.*$", re.MULTILINE)
        if match := pattern.search(body):
            body = body[: match.start()] + line + body[_assignment_end_offset(body, match) :]
        else:
            body = f"{line}\n{body}" if self.table else f"{body.rstrip()}\n{line}\n\n"
        return text[:begin] + body + text[end:]


def apply_lines(text: str, lines: Sequence[SettingLine], file: Path | None = None) -> str:
    """Return the `text` of a site.toml, `file`, with all `lines` in it; UserError if it lacks one
    of their values then: TOML has more ways to write a table."""
    new_text = functools.reduce(lambda result, line: line.apply_to(result), lines, text)
    final_lines = {(line.table, line.key): line for line in lines}.values()
    try:
        content = files.parse_toml(new_text)
    except UserError:
        content = {}
    if not all(line.is_in(content) for line in final_lines):
        lines_text = ", ".join(map(str, final_lines))
        raise UserError(f"is left as it is; edit it by hand so that it has: {lines_text}", file)
    return new_text


def _assignment_end_offset(text: str, assignment: re.Match[str]) -> int:
    """Return the offset in `text` at which an assignment ends; its array may span several lines."""
    for line_end in re.compile(r"$", re.MULTILINE).finditer(text, assignment.end()):
        try:
            files.parse_toml(text[assignment.start() : line_end.start()])
        except UserError:
            continue
        return line_end.start()
    return assignment.end()


def _table_body_span(text: str, name: str) -> tuple[int | None, int]:
    """Return the offsets of the begin and end of a table's keys; (None, 0) if it is missing."""
    headings = list(re.finditer(r"^\[(.+?)\][ \t]*(?:#.*)?\n", text, re.MULTILINE))
    if not name:
        return 0, headings[0].start() if headings else len(text)
    for number, heading in enumerate(headings):
        if heading[1].strip() == name:
            successors = headings[number + 1 : number + 2]
            return heading.end(), successors[0].start() if successors else len(text)
    return None, 0
