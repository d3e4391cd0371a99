"""What a new site says of its nights, and what one should know of its Slurm before measuring."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.sites.probe import Facts
from roundtrip.sites.slurm import Limits, Partition

#: Of the job of a night: as campaigns/nightly.sbatch asks by itself.
_USUAL_S = 6 * 3600


def environment(facts: Facts, measured: Sequence[Partition]) -> str:
    """The text of the site's file ``environment``: where and how long nightly.sbatch runs.

    The job of a night should take no node from its launches: a partition without any of theirs is
    best.  "" without Slurm.
    """
    if not measured:
        return ""
    own = frozenset().union(*(one.hosts for one in measured))
    apart = [p for p in facts.usable if p.hosts and not p.hosts & own]
    chosen = max(apart, key=lambda p: _longest(facts, p)) if apart else measured[0]
    minutes = min(_USUAL_S, _longest(facts, chosen)) // 60
    why = (
        "none of its nodes is measured"
        if apart
        else "its nodes are measured as well: the job of a night takes one core of them"
    )
    text = (
        "# Sourced by `activate`: options of `sbatch campaigns/nightly.sbatch`.\n"
        f"export SBATCH_PARTITION={chosen.name} # {why}\n"
        f"export SBATCH_TIMELIMIT={minutes} # minutes\n"
    )
    for variable, one in (("SBATCH_ACCOUNT", chosen), ("ROUNDTRIP_ACCOUNT", measured[0])):
        allowed = _accounts(facts, one)
        if len(facts.says.accounts) > 1 and allowed:
            text += f"export {variable}={allowed[0]} # of: {', '.join(allowed)}\n"
    return text


def lines(facts: Facts, measured: Sequence[Partition]) -> list[str]:
    """What was found, for people."""
    says = facts.says
    told = []
    for one in measured:
        kinds = says.kinds.get(one.name, ())
        if len(kinds) > 1 or any(kind.gres for kind in kinds):
            told.append(f"nodes of `{one.name}`: {'; '.join(map(str, kinds))}")
    for name, limits in says.limits.items():
        parts = [] if limits.up else ["does not start jobs, so left out"]
        parts += [f"for QOS {', '.join(limits.qos)} only"] if limits.qos else []
        parts += [f"for accounts {', '.join(limits.accounts)} only"] if limits.accounts else []
        if parts:
            told.append(f"partition `{name}`: {'; '.join(parts)}")
    if says.qos:
        named = [f"{name} ({_hours(longest)})" for name, longest in says.qos.items()]
        told.append(f"QOS: {', '.join(named)}; your accounts: {', '.join(says.accounts) or 'none'}")
    if says.switches:
        named = [f"{name} ({len(nodes)} nodes)" for name, nodes in says.switches.items()]
        told.append(f"leaf switches: {', '.join(named)}")
    if says.crontab:
        told.append("scrontab is enabled: it starts the nights")
    if says.preempts:
        told.append("Slurm preempts jobs here: such a launch is repeated")
    return told


def unknown(facts: Facts, measured: Sequence[Partition]) -> list[str]:
    """What somebody has to decide."""
    left = []
    for one in measured:
        kinds = facts.says.kinds.get(one.name, ())
        if len({(kind.cores, kind.gres) for kind in kinds}) > 1:
            left.append(
                f"nodes of partition `{one.name}` differ, and a launch takes any: to measure one "
                'kind, add `"--constraint=FEATURE"` to its `access`, and say its `nodes`'
            )
        limits = facts.says.limits.get(one.name, Limits())
        if limits.qos and not set(limits.qos) & {"normal"}:
            left.append(f"`access` of partition `{one.name}`: `--qos=` one of {limits.qos}")
    return left


def _accounts(facts: Facts, partition: Partition) -> list[str]:
    """The user's accounts that may use the partition."""
    accounts = facts.says.limits.get(partition.name, Limits()).accounts
    return [name for name in facts.says.accounts if not accounts or name in accounts]


def _longest(facts: Facts, partition: Partition) -> int:
    longest = facts.says.limits.get(partition.name, Limits()).longest_s
    return _USUAL_S if longest is None else longest


def _hours(longest_s: int | None) -> str:
    return "no limit" if longest_s is None else f"{longest_s / 3600:g} h"
