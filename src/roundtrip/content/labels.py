"""Labels of values that were emulated or simulated, and notices about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import RichText, StrongText
from roundtrip.content.data import BundleData

_SIMULATED_LABEL = "SIMULATED"
#: The answer of a study whose launches were all simulated.
ONLY_SIMULATED_NOTE = "Nothing is claimed of simulated values: see the figures below (SIMULATED)."
_LABEL_WORD_BY_EMULATION = {"nodes": "NODES", "wan_rtt_ms": "WAN", "hub_mbit_s": "HUB"}
_LABEL_TEMPLATE_BY_FACT = {
    "wan_rtt_ms": "EMULATED WAN: RTT {:g} ms",
    "hub_mbit_s": "EMULATED HUB: {:g} Mbit/s",
}
OVERSUBSCRIBED_NOTE = "more ranks than processors"
ON_FEWER_PROCESSORS = "on fewer processors"
#: The placement of two ranks, or of all ranks, in words.
TEXT_BY_PLACEMENT = {
    "shared-memory": "in one node",
    "one-per-node": "on a node each",
    "all-cores": "on every core",
    "one-socket": "on one socket",
    "two-sockets": "on two sockets",
    "oversubscribed": ON_FEWER_PROCESSORS,
}


def launch_label(emulation: Sequence[Mapping[str, Any]] | None, simulated: object) -> str:
    """``EMULATED WAN: RTT 2 ms`` or ``SIMULATED``; "" if the launch was measured."""
    labels = []
    if emulation:
        facts = {fact["name"]: fact for fact in emulation}
        nodes = facts.pop("nodes", None)
        labels += [
            text.format(facts.pop(name)["number"])
            for name, text in _LABEL_TEMPLATE_BY_FACT.items()
            if name in facts
        ]
        if nodes and not labels:
            labels.append("EMULATED NODES")
        if facts:
            values = ", ".join(f"{name} = {fact['value']}" for name, fact in facts.items())
            labels.append(f"EMULATED: {values}")
    if simulated:
        labels.append(_SIMULATED_LABEL)
    return "; ".join(labels)


def title_differences(titles: Collection[str]) -> dict[str, str]:
    """By title, its comma-separated words that not all titles have; "" for a single title."""
    parts = {title: title.split(", ") for title in titles}
    common_parts = set.intersection(*map(set, parts.values())) if parts else set()
    return {
        title: ", ".join(part for part in title_parts if part not in common_parts)
        for title, title_parts in parts.items()
    }


def short_titles(titles: Collection[str]) -> dict[str, str]:
    """By title, its difference from the others, or the whole title if there is none."""
    return {title: difference or title for title, difference in title_differences(titles).items()}


def join_titles(titles: Collection[str]) -> str:
    """``MPICH 4.0 and Open MPI 4.1, Boost 1.81``: titles, and once what all of them share."""
    differences = title_differences(titles)
    if not all(differences.values()):
        return " and ".join(titles)
    first = min(titles)
    common_parts = [part for part in first.split(", ") if part not in differences[first]]
    return ", ".join((" and ".join(differences.values()), *common_parts))


def add_missing_setting(title: str, setting: str) -> str:
    """The title, and those words of the setting that it lacks: ``MPI, stream`` and ``ranks 2``."""
    words = title.replace("-", "").replace(",", " ").replace("/", " ").split()
    parts = setting.split(", ")
    unnamed = [part for part in parts if part.rpartition(" ")[2].replace("-", "") not in words]
    return ", ".join(filter(None, (title, *unnamed)))


def add_label(name: str, launch: Mapping[str, Any]) -> str:
    """The name, followed by the label of the launch if it was emulated or simulated."""
    return f"{name} {launch_label(launch['emulation'], launch['simulated'])}".strip()


def labels_by_environ(launches: pl.DataFrame) -> dict[str, str]:
    """Labels of the completed launches that were not measured, by environment."""
    rows = launches.filter(pl.col("status") == "passed").select("environ", "emulation", "simulated")
    labels: dict[str, dict[str, None]] = {}
    for environ, emulation, simulated in rows.iter_rows():
        if label := launch_label(emulation, simulated):
            labels.setdefault(environ, {})[label] = None
    return {environ: "; ".join(environ_labels) for environ, environ_labels in labels.items()}


def label_suffix(labels: Iterable[str]) -> str:
    """`` (EMULATED WAN: RTT 2 ms)``: the distinct labels; "" if all values are measured."""
    text = "; ".join(dict.fromkeys(label for label in labels if label))
    return f" ({text})" if text else ""


def partial_label_suffix(labels: Iterable[str]) -> str:
    """The `label_suffix`; if some values are measured, `` (in part EMULATED WAN: RTT 2 ms)``."""
    all_labels = list(labels)
    text = label_suffix(all_labels)
    return text.replace("(", "(in part ", 1) if text and "" in all_labels else text


def are_all_simulated(labels: Iterable[str]) -> bool:
    """Whether there are labels, and each of them says SIMULATED."""
    ends = {label.endswith(_SIMULATED_LABEL) for label in labels}
    return ends == {True}


def history_labels_by_environ(provenance: pl.DataFrame) -> dict[str, str]:
    """Labels by environment, from the facts of all nights; none where measured."""
    labels: dict[str, set[str]] = {}
    facts = provenance.select("subject", "name").unique().sort("subject", "name")
    for environ, name in facts.iter_rows():
        fact_kind, _, emulation = name.partition(" ")
        label = _SIMULATED_LABEL if fact_kind == "simulated" else ""
        if fact_kind == "emulated" and emulation:
            label = f"EMULATED {_LABEL_WORD_BY_EMULATION.get(emulation, '')}".strip()
        if label:
            labels.setdefault(environ, set()).add(label)
    return {environ: ", ".join(sorted(texts)) for environ, texts in labels.items()}


def label_notice(labels_by_environ: dict[str, str]) -> RichText | None:
    """A notice that values are emulated or simulated; None without labels."""
    if not labels_by_environ:
        return None
    distinct_labels = "; ".join(sorted(set(labels_by_environ.values())))
    return (
        StrongText(f"{distinct_labels}: "),
        f"the values of {units.plural(len(labels_by_environ), 'toolchain')} here are not from "
        "real hardware; each row says so. Their changes between nights have a meaning, their "
        "absolute values have little.",
    )


def simulated_notice(data: BundleData) -> RichText | None:
    """A notice of simulated launches, None without any; the collector fails runs that differ."""
    launches = data.simulated_launches
    if launches.is_empty():
        return None
    runs = launches.group_by("case_id").len()["len"]
    count, pairs = units.plural(launches.height, "launch"), int((runs > 1).sum())
    proof = f"{pairs} of {units.plural(len(runs), 'case')}: two runs, identical to the last digit. "
    return (
        StrongText("SIMULATED: "),
        f"{count} did not run on real hardware and are labelled. Simulated by "
        f"{_describe_simulators(launches)}. A simulation gives the same values each time, so "
        f"nothing is tested and no interval is drawn. {proof if pairs else ''}No claim compares "
        "simulated values with measured ones.",
    )


def _describe_simulators(launches: pl.DataFrame) -> str:
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
