"""Labels of rows that were not measured on a real network, and notices about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Strong, Text
from roundtrip.report.data import Data

_SIMULATED_LABEL = "SIMULATED"
#: The answer of a study whose launches were all simulated.
ONLY_SIMULATED_NOTE = "Nothing is claimed of simulated values: see the figures below (SIMULATED)."
_EMULATION_WORDS = {"nodes": "NODES", "wan_rtt_ms": "WAN", "hub_mbit_s": "HUB"}
_FACT_TEXTS = {"wan_rtt_ms": "EMULATED WAN: RTT {:g} ms", "hub_mbit_s": "EMULATED HUB: {:g} Mbit/s"}
OVERSUBSCRIBED_NOTE = "more ranks than processors"
#: The placement of two ranks, or of all ranks, in words.
PLACEMENTS = {
    "shared-memory": "in one node",
    "one-per-node": "on a node each",
    "all-cores": "on every core",
    "one-socket": "on one socket",
    "two-sockets": "on two sockets",
    "oversubscribed": OVERSUBSCRIBED_NOTE,
}


def kind(emulation: Sequence[Mapping[str, Any]] | None, simulated: object) -> str:
    """The label of a launch: ``EMULATED WAN: RTT 2 ms`` or ``SIMULATED``; "" if it was measured."""
    kinds = []
    if emulation:
        facts = {fact["name"]: fact for fact in emulation}
        nodes = facts.pop("nodes", None)
        kinds += [
            text.format(facts.pop(name)["number"])
            for name, text in _FACT_TEXTS.items()
            if name in facts
        ]
        if nodes and not kinds:
            kinds.append("EMULATED NODES")
        if facts:
            values = ", ".join(f"{name} = {fact['value']}" for name, fact in facts.items())
            kinds.append(f"EMULATED: {values}")
    if simulated:
        kinds.append(_SIMULATED_LABEL)
    return "; ".join(kinds)


def label_differences(labels: Collection[str]) -> dict[str, str]:
    """The comma-separated parts of each label that not all labels share; "" for a single label."""
    parts = {label: label.split(", ") for label in labels}
    common_parts = set.intersection(*map(set, parts.values())) if parts else set()
    return {
        label: ", ".join(part for part in label_parts if part not in common_parts)
        for label, label_parts in parts.items()
    }


def distinct_labels(labels: Collection[str]) -> dict[str, str]:
    """As `label_differences`, with the whole label in place of ""."""
    return {label: rest or label for label, rest in label_differences(labels).items()}


def join_labels(labels: Collection[str]) -> str:
    """``MPICH 4.0 and Open MPI 4.1, Boost 1.81``: labels, and the parts that all share once."""
    rests = label_differences(labels)
    if not all(rests.values()):
        return " and ".join(labels)
    common_parts = [part for part in min(labels).split(", ") if part not in rests[min(labels)]]
    return ", ".join((" and ".join(rests.values()), *common_parts))


def add_setting(title: str, setting: str) -> str:
    """`title` with the parts of `setting` that it lacks: ``MPI, stream`` and ``ranks 2``."""
    words = title.replace("-", "").replace(",", " ").replace("/", " ").split()
    parts = setting.split(", ")
    unnamed = [part for part in parts if part.rpartition(" ")[2].replace("-", "") not in words]
    return ", ".join(filter(None, (title, *unnamed)))


def add_mark(name: str, row: Mapping[str, Any]) -> str:
    """`name` with the kind of the launch `row` if it was emulated or simulated."""
    return f"{name} {kind(row['emulation'], row['simulated'])}".strip()


def kinds_by_environ(launches: pl.DataFrame) -> dict[str, str]:
    """The kinds of those launches, by environment, that passed and were not measured."""
    rows = launches.filter(pl.col("status") == "passed").select("environ", "emulation", "simulated")
    kinds: dict[str, dict[str, None]] = {}
    for environ, emulation, simulated in rows.iter_rows():
        if mark := kind(emulation, simulated):
            kinds.setdefault(environ, {})[mark] = None
    return {environ: "; ".join(marks) for environ, marks in kinds.items()}


def label_suffix(kinds: Iterable[str]) -> str:
    """`` (EMULATED WAN: RTT 2 ms)``: the distinct `kinds`; "" if all values are measured."""
    text = "; ".join(dict.fromkeys(label for label in kinds if label))
    return f" ({text})" if text else ""


def label_suffix_of_sum(kinds: Iterable[str]) -> str:
    """As `label_suffix`, where some are measured: `` (in part EMULATED WAN: RTT 2 ms)``."""
    all_kinds = list(kinds)
    text = label_suffix(all_kinds)
    return text.replace("(", "(in part ", 1) if text and "" in all_kinds else text


def is_only_simulated(kinds: Iterable[str]) -> bool:
    """Whether there are values, and the kind of each of them is a simulated one."""
    kind_set = set(kinds)
    return bool(kind_set) and all(label.endswith(_SIMULATED_LABEL) for label in kind_set)


def labels_from_history(provenance: pl.DataFrame) -> dict[str, str]:
    """Labels by environment, from the facts of all nights; none where all nights measured."""
    environ_marks: dict[str, set[str]] = {}
    facts = provenance.select("subject", "name").unique().sort("subject", "name")
    for environ, name in facts.iter_rows():
        kind, _, emulation = name.partition(" ")
        mark = _SIMULATED_LABEL if kind == "simulated" else ""
        if kind == "emulated" and emulation:
            mark = f"EMULATED {_EMULATION_WORDS.get(emulation, '')}".strip()
        if mark:
            environ_marks.setdefault(environ, set()).add(mark)
    return {environ: ", ".join(sorted(marks)) for environ, marks in environ_marks.items()}


def notice_of_labels(marks: dict[str, str]) -> Text | None:
    """A notice that values are emulated or simulated; None if all are measured."""
    if not marks:
        return None
    kinds = "; ".join(sorted(set(marks.values())))
    return (
        Strong(f"{kinds}: "),
        f"what {units.plural(len(marks), 'toolchain')} measured here did not run on real hardware; "
        "each row says so. Absolute values mean little, changes from night to night do.",
    )


def simulated_launches(data: Data) -> pl.DataFrame:
    """Completed launches that were simulated: columns as in `Data.launches`."""
    return data.completed_launches.filter(pl.col("simulated").fill_null(False))


def notice_of_simulated(data: Data) -> Text | None:
    """A notice of simulated launches for the top of the report; None if there are none.

    Two runs of a case are identical, because the collector fails a second run that differs.
    """
    launches = simulated_launches(data)
    if launches.is_empty():
        return None
    runs = launches.group_by("case_id").len()["len"]
    count, pairs = units.plural(launches.height, "launch"), int((runs > 1).sum())
    proof = f"{pairs} of {units.plural(len(runs), 'case')}: two runs, identical to the last digit. "
    return (
        Strong("SIMULATED: "),
        f"{count} did not run on real hardware; labelled throughout. Simulated by "
        f"{_simulators_text(launches)}. A simulation gives the same values each time, so that "
        f"nothing is tested and no interval is drawn. {proof if pairs else ''}"
        "No claim compares simulated values with measured ones.",
    )


def _simulators_text(launches: pl.DataFrame) -> str:
    """``SimGrid 3.32 on platform odin (hosts of 200 to 1000 Mflop/s, file 4716644c)``."""
    columns = [f"simulated_{name}" for name in ("simgrid", "platform", "host_flops")]
    platforms = launches.select(*columns, "simulated_platform_sha256").unique().sort(columns)
    simulators = []
    for (simgrid, name), rows in platforms.group_by(columns[:2], maintain_order=True):
        files = rows["simulated_platform_sha256"].unique()
        file = f"file {files[0][:8]}" if len(files) == 1 else f"{len(files)} files"
        flops = rows["simulated_host_flops"]  # null: of a launch that sweeps speeds
        speeds = sorted(flops.drop_nulls() / 1e6)
        ends = dict.fromkeys(f"{speed:g}" for speed in (*speeds[:1], *speeds[-1:]))
        hosts = [f"hosts of {' to '.join(ends)} Mflop/s"] if ends else []
        hosts += ["hosts of all speeds swept"] if flops.null_count() else []
        simulators.append(f"SimGrid {simgrid} on platform {name} ({' and '.join(hosts)}, {file})")
    return "; ".join(simulators)
