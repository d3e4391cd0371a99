"""Conditions of this machine that may spoil measurements, and advice: pure functions of facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from roundtrip.sites.machine import Host

DiagnosisLevel = Literal["ok", "warn", "impossible"]


@dataclass(frozen=True)
class Diagnosis:
    """One line of `roundtrip doctor`: its topic, severity, detail, and advice, "" without any."""

    topic: str
    level: DiagnosisLevel
    detail: str
    advice: str = ""


def warning_or_ok(is_bad: bool, topic: str, detail: str, advice: str) -> Diagnosis:
    """Return a diagnosis of level "warn" with `advice` if `is_bad`, else one of level "ok"."""
    return Diagnosis(topic, "warn", detail, advice) if is_bad else Diagnosis(topic, "ok", detail)


#: Clock sources that are read without a system call: cheap and fine enough to time messages.
_FAST_CLOCK_SOURCES = (
    "tsc",
    "arch_sys_counter",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "timebase",
)
#: Load average, in cores, above which other work disturbs a launch.
_MAX_LOAD_CORES = 0.25
#: Share of steal in the time since boot above which timings show it.
_MAX_STEAL_SHARE = 0.001
_UNKNOWN_TEXT = "the kernel does not say"


def check_cores(host: Host) -> Diagnosis:
    """Check whether two ranks get a core each, and the system another one."""
    detail = f"{host.cores} cores, {host.usable} of {host.logical} processors usable"
    if host.usable < 2 or host.cores < 2:
        advice = "two ranks need a core each: measurements here mean nothing; use another machine"
        return Diagnosis("cores", "impossible", detail, advice)
    advice = "two ranks leave no core for the system: expect wide intervals, use more repeats"
    return warning_or_ok(host.cores == 2, "cores", detail, advice)


def check_processor_limits(host: Host) -> Diagnosis:
    """Check whether a control group or a CPU set withholds processors from this process."""
    if host.quota is not None and host.quota < host.logical:
        detail = f"the control group gets {host.quota:g} of {host.logical} processors"
        if host.quota < 2:
            advice = "two polling ranks are throttled: raise the container's processor limit"
            return Diagnosis("oversubscription", "impossible", detail, advice)
        return Diagnosis(
            "oversubscription", "warn", detail, "raise the container's processor limit"
        )
    if host.usable < host.logical:
        detail = f"this process may use {host.usable} of {host.logical} processors"
        return Diagnosis("oversubscription", "warn", detail, "run without taskset or cpuset")
    return Diagnosis("oversubscription", "ok", "no processor limit")


def _frequency_diagnoses(host: Host) -> Iterator[Diagnosis]:
    """Check SMT, frequency governor, turbo and load average."""
    detail = {True: "on: two threads share a core", False: "off", None: _UNKNOWN_TEXT}[host.smt]
    advice = "ranks are bound to cores; to be sure: echo off > /sys/devices/system/cpu/smt/control"
    yield warning_or_ok(host.smt is True, "SMT", detail, advice)
    detail = ", ".join(host.governors) or "frequency is not under this kernel's control"
    is_bad = host.governors not in ((), ("performance",))
    yield warning_or_ok(is_bad, "governor", detail, "cpupower frequency-set -g performance")
    detail = {True: "on", False: "off", None: _UNKNOWN_TEXT}[host.turbo]
    advice = "speed depends on temperature: echo 1 > .../cpu/intel_pstate/no_turbo"
    advice += " (or echo 0 > .../cpu/cpufreq/boost)"
    yield warning_or_ok(host.turbo is True, "turbo", detail, advice)
    detail = f"load average {host.load_averages[0]:.2f} over the last minute"
    is_bad = host.load_averages[0] > _MAX_LOAD_CORES
    yield warning_or_ok(is_bad, "load", detail, "stop other work, or wait until it is done")


def check_virtualisation(host: Host) -> Diagnosis:
    """Check whether this is a virtual machine, and its share of steal time."""
    if not host.virtual:
        return Diagnosis("virtualisation", "ok", "container" if host.container else "none")
    detail = f"virtual machine{f' ({host.hypervisor})' if host.hypervisor else ''}"
    detail += f", {host.steal_share:.2%} of its time since boot went to others"
    advice = "compare it with itself only"
    if host.steal_share > _MAX_STEAL_SHARE:
        advice += "; its processors are shared: repeat at quieter times"
    return Diagnosis("virtualisation", "warn", detail, advice)


def _kernel_diagnoses(host: Host) -> Iterator[Diagnosis]:
    """Check the clock source, swap, transparent huge pages and NUMA balancing."""
    detail = host.clocksource or _UNKNOWN_TEXT
    advice = "slow to read: boot with clocksource=tsc if the processor's TSC is stable"
    is_bad = host.clocksource is not None and host.clocksource not in _FAST_CLOCK_SOURCES
    yield warning_or_ok(is_bad, "clock source", detail, advice)
    kib = host.swap_used_kib
    detail = f"{kib / 1024:.0f} MiB in use" if kib else "not in use" if host.swap_kib else "none"
    yield warning_or_ok(kib > 0, "swap", detail, "free memory, then swapoff -a && swapon -a")
    advice = "large buffers get faster at random: echo madvise > /sys/kernel/mm/"
    advice += "transparent_hugepage/enabled"
    is_bad = host.thp == "always"
    yield warning_or_ok(is_bad, "transparent huge pages", host.thp or _UNKNOWN_TEXT, advice)
    detail = f"{host.numa_nodes} node{'s' if host.numa_nodes > 1 else ''}"
    if is_bad := host.numa_nodes > 1 and bool(host.numa_balancing):
        detail += ", the kernel moves pages between them"
    yield warning_or_ok(is_bad, "NUMA", detail, "echo 0 > /proc/sys/kernel/numa_balancing")


def check_packages(missing: Sequence[str] | None) -> Diagnosis:
    """Check `missing`, the packages of a campaign that are not installed; None: no dpkg and rpm."""
    if missing is None:
        return Diagnosis("packages", "warn", "no dpkg and no rpm", "build the software with Spack")
    detail = f"not installed: {', '.join(missing)}" if missing else "all installed"
    return warning_or_ok(bool(missing), "packages", detail, "make setup")


def check_toolchains(states: Mapping[str, str]) -> Diagnosis:
    """Check whether toolchains are built; `states`: good, stale or not built, by name."""
    stale_names = [name for name, state in states.items() if state == "stale"]
    good_names = [name for name, state in states.items() if state == "good"]
    if stale_names:
        names = " ".join(stale_names)
        return Diagnosis("toolchains", "warn", f"stale: {names}", f"roundtrip toolchains {names}")
    if not good_names:
        return Diagnosis("toolchains", "warn", "none built", "make setup")
    return Diagnosis("toolchains", "ok", f"{len(good_names)} of {len(states)} built")


def diagnose_machine(
    host: Host, missing_packages: Sequence[str] | None, toolchain_states: Mapping[str, str]
) -> list[Diagnosis]:
    """Return all diagnoses of this machine, in a fixed order, except those of the A/A test."""
    return [
        check_cores(host),
        check_processor_limits(host),
        *_frequency_diagnoses(host),
        check_virtualisation(host),
        *_kernel_diagnoses(host),
        check_packages(missing_packages),
        check_toolchains(toolchain_states),
    ]


def can_measure(diagnoses: Sequence[Diagnosis]) -> bool:
    """Whether no diagnosis makes measuring here impossible."""
    return all(diagnosis.level != "impossible" for diagnosis in diagnoses)
