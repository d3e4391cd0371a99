"""Answers of the world, for people."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from vclusterlib.units import show_rate, show_size


def show_link(link: dict[str, Any]) -> str:
    """Two lines: the settings of the link, and the result of the self-test."""
    line = f"{link['fabric']} ({link['engine']}): "
    if link["fabric"] == "wan":
        line += f"RTT {link['rtt_ms']:g} ms, "
    line += f"rate {show_rate(link['rate_bit_s'])}"
    if link["fabric"] == "wan":
        line += f", loss {link['loss'] * 100:g} %, queue {show_size(link['queue_bytes'])}"
    line += "" if link["up"] else ", DOWN"
    return f"{line}\n{_show_test(link['self_test'])}"


def _show_test(test: dict[str, Any] | None) -> str:
    if test is None:
        return "self-test: not run since the last change"
    if test["received"] == 0:
        return "self-test: nothing passes, as asked"
    line = (
        f"self-test: ping a1 -> b1 asked {test['asked_ms']:.3f} ms, min {test['min_ms']:.3f}, "
        f"p50 {test['p50_ms']:.3f} ms"
    )
    return line + (" (disturbed: this machine is busy)" if test["disturbed"] else "")


def _node_state(node: dict[str, Any]) -> str:
    return str(node["state"]) + ("" if node["slurmd"] else " (its slurmd does not run)")


def show_status(status: dict[str, Any]) -> str:
    """A few lines; nodes of the same cluster and state share one."""
    lines = [f"cluster {status['name']}: {status['state']}"]
    lines[0] += f" ({status['why']})" if "why" in status else ""
    if "nodes" in status:
        for (cluster, state), nodes in groupby(
            status["nodes"], key=lambda node: (node["cluster"], _node_state(node))
        ):
            lines.append(f"{cluster}: {' '.join(node['name'] for node in nodes)} {state}")
        link = status["link"]
        lines.append(link["error"] if "error" in link else show_link(link))
    lines.append(f"state directory {status['state_dir']}")
    return "\n".join(lines)
