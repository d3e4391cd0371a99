"""The emulated link as the head uses it: our userspace program, or netem in the kernel; its test.

Its settings are a `LinkSettings`.  Its statistics are JSON objects, one for each direction or
medium: ``{"name", "frames", "bytes", "sent", "lost", "dropped", ..., "late_us_mean",
"late_us_max"}``.  ``changes`` counts the changes of the link or its counters since ``started_ns``.
Only the userspace link knows how late its frames were.
"""

from __future__ import annotations

import json
import re
import socket
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vclusterlib import VclusterError, network
from vclusterlib.daemons import Daemons

_PACKET_BYTES = 1514
_UNLIMITED_QUEUE_PACKETS = 1_000_000
_FIFO_PRIORITY = "50"
_MAX_PACED_BIT_S = 1e9
_PING_COUNT = 25
_MAX_ATTEMPTS = 3
#: Bits on the wire of one 56-byte ping: 98 of frame, 24 of preamble, FCS and gap.
_PING_BITS = 8 * (98 + 24)
#: The fastest ping may exceed the expected time by this, or by a twentieth.
_TOLERANCE_MS = 0.5
#: It may not be faster, within the three digits that ping prints: 0.031, 2.03, 40.1, 100.
_ROUNDING_MS = 0.02
_MAX_MEDIAN_DELAY_MS = 0.25
#: The settings of a link, as statistics and records name them.
SETTING_KEYS = ("rtt_ms", "rate_bit_s", "loss", "queue_bytes", "seed", "up")


@dataclass(frozen=True)
class LinkSettings:
    """RTT in s, rate in bit/s (0: unlimited); loss 0..0.5 and queue in bytes in each direction."""

    rtt: float = 0.0
    rate: float = 0.0
    loss: float = 0.0
    queue: int = 64 * 2**20
    seed: int = 1
    up: bool = True

    @property
    def needs_packets(self) -> bool:
        """Whether the link must see single packets: losses or pacing of 64 KiB are too coarse."""
        return self.loss > 0 or 0 < self.rate <= _MAX_PACED_BIT_S

    def to_json(self) -> dict[str, Any]:
        """The settings under the names of `SETTING_KEYS`."""
        return {
            "rtt_ms": self.rtt * 1e3,
            "rate_bit_s": self.rate,
            "loss": self.loss,
            "queue_bytes": self.queue,
            "seed": self.seed,
            "up": self.up,
        }


class UserspaceLink:
    """Our program, which is controlled by a unix datagram socket.

    `senders`: the devices that send to it, in single packets if `in_packets` is set or the settings
    need them.  The socket is in the working folder, the state's run/.
    """

    engine = "userspace"

    def __init__(
        self,
        daemons: Daemons,
        program: str,
        mode: str,
        ports: list[str],
        name: str = "link",
        senders: Sequence[str] = (),
        in_packets: bool = False,
    ) -> None:
        self.program = Path(program).name
        self._socket = f"{name}.sock"
        Path(self._socket).unlink(missing_ok=True)
        command = [program, mode, *ports, "--fifo", _FIFO_PRIORITY, "--control", self._socket]
        daemons.start(name, command)
        daemons.await_ready(name, self._is_ready, 5)
        self._senders = senders
        self._in_packets = in_packets

    def apply(self, settings: LinkSettings, ends_cut: bool = False) -> None:
        """Set the link; a cut by ``--cut`` goes on unless `ends_cut`."""
        network.segment_in_software(self._senders, self._in_packets or settings.needs_packets)
        self._send_command(
            f"delay_us={settings.rtt * 5e5:.3f} rate_bps={settings.rate:.0f} "
            f"queue_bytes={settings.queue} loss={settings.loss:.9g} seed={settings.seed} "
            f"{('up' if ends_cut else '') if settings.up else 'down'}"
        )

    def cut(self, seconds: float) -> None:
        self._send_command(f"cut_us={seconds * 1e6:.0f}")

    def statistics(self, reset: bool) -> dict[str, Any]:
        state = self._send_command("stats")
        if reset:
            self._send_command("reset")
        return {
            "directions": state["media"],
            "cpu_s": state["cpu_s"],
            "scheduler": state["scheduler"],
            "send_errors": state["send_errors"],
            # as the program reports them, whoever set them
            "rtt_ms": state["delay_us"] * 2 / 1e3,
            "rate_bit_s": state["rate_bps"],
            "loss": state["loss"],
            "up": state["up"],
            "started_ns": state["started_ns"],
            "changes": state["changes"],
        }

    def _is_ready(self) -> bool:
        try:
            self._send_command("stats")
        except VclusterError:
            return False
        return True

    def _send_command(self, command: str) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.bind("")  # the kernel chooses an address, which the link can reach
            client.settimeout(2)
            try:
                client.sendto(command.encode(), self._socket)
                answer: dict[str, Any] = json.loads(client.recv(65536))
            except OSError as error:
                raise VclusterError(f"the link does not answer ({error})") from error
        if not answer["ok"]:
            raise VclusterError(f"link: {answer['error']}")
        return answer


class NetemLink:
    """netem on both ends of the veth pair between the bridges."""

    engine = "netem"
    program = ""
    _direction_by_device = {"pA": "A->B", "pB": "B->A"}  # noqa: RUF012  a constant

    def __init__(self) -> None:
        self._settings = LinkSettings()
        self._started = time.monotonic_ns()
        self._changes = 0

    def apply(self, settings: LinkSettings, ends_cut: bool = False) -> None:
        self._changes += settings != self._settings
        self._settings = settings
        network.segment_in_software(self._direction_by_device, settings.needs_packets)
        network.run_batch("tc", "".join(f"{line}\n" for line in netem_script(settings)))

    def cut(self, seconds: float) -> None:
        raise VclusterError(f"netem cannot be cut for {seconds:g} s: use --down and --up")

    def statistics(self, reset: bool) -> dict[str, Any]:
        if reset:
            self.apply(self._settings)
            self._changes += 1
        command = ["tc", "-s", "-j", "qdisc", "show"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        directions = [
            {
                "name": self._direction_by_device[queue["dev"]],
                "sent": queue["packets"],
                "bytes": queue["bytes"],
                "dropped": queue["drops"],
                "late_us_mean": None,
                "late_us_max": None,
            }
            for queue in json.loads(output)
            if queue["kind"] == "netem"
        ]
        return {
            "directions": directions,
            "scheduler": "kernel",
            "up": self._settings.up,
            "started_ns": self._started,
            "changes": self._changes,
        }


#: A link as the head uses it.
Link = UserspaceLink | NetemLink


def netem_script(settings: LinkSettings) -> list[str]:
    """Lines for ``tc -batch``; netem's limit counts packets, both in the queue and in flight."""
    lines = []
    loss = settings.loss if settings.up else 1.0
    bytes_in_flight = settings.rate * settings.rtt / 2 / 8
    limit = max(2, int((settings.queue + bytes_in_flight) / _PACKET_BYTES))
    for device in ("pA", "pB"):
        line = f"qdisc replace dev {device} root netem delay {settings.rtt * 5e5:.3f}us"
        line += f" limit {limit if settings.rate else _UNLIMITED_QUEUE_PACKETS}"
        line += f" rate {settings.rate:.0f}bit" if settings.rate else ""
        line += f" loss {loss * 100:.6g}%" if loss else ""
        lines.append(line)
    return lines


@dataclass(frozen=True)
class SelfTest:
    """Times in ms, infinite (in JSON null) if nothing was received; `asked_ms` includes the
    serialisation of the ping itself."""

    asked_ms: float
    min_ms: float
    p50_ms: float
    sent: int
    received: int

    @property
    def passed(self) -> bool:
        ceiling = self.asked_ms + max(_TOLERANCE_MS, self.asked_ms / 20)
        floor = self.asked_ms - max(_ROUNDING_MS, self.asked_ms / 200)
        return self.received > 0 and floor <= self.min_ms <= ceiling

    @property
    def disturbed(self) -> bool:
        """Whether the fastest ping is right, but the median is late: the machine is busy."""
        return self.passed and self.p50_ms - self.asked_ms > _MAX_MEDIAN_DELAY_MS

    def to_json(self) -> dict[str, Any]:
        times = {} if self.received else {"min_ms": None, "p50_ms": None}
        return {**asdict(self), **times, "passed": self.passed, "disturbed": self.disturbed}

    def __str__(self) -> str:
        return (
            f"ping a1 -> b1 asked {self.asked_ms:.3f} ms, min {self.min_ms:.3f}, "
            f"p50 {self.p50_ms:.3f} ms, {self.received} of {self.sent} received"
        )


def expected_ms(settings: LinkSettings) -> float:
    """The round-trip time that the link adds to a ping: delay, and serialisation both ways."""
    serialisation = 2 * _PING_BITS / settings.rate if settings.rate else 0.0
    return (settings.rtt + serialisation) * 1e3


def parse_ping(output: str, asked_ms: float) -> SelfTest:
    """Parse what ping printed; `asked_ms` is the expected time."""
    times = [float(t) for t in re.findall(r"time[=<]([\d.]+) ms", output)]
    counts = re.search(r"(\d+) packets transmitted, (\d+)", output)
    sent = int(counts[1]) if counts else 0
    if not times:
        return SelfTest(asked_ms, float("inf"), float("inf"), sent, 0)
    return SelfTest(asked_ms, min(times), statistics.median(times), sent, len(times))


def _ping(target: str, count: int, interval: float, timeout_s: float) -> str:
    prefix = ["nsenter", f"--net={network.NETNS_FOLDER / 'a1'}"]
    pace = ["-c", str(count), "-i", f"{interval:.3f}", "-W", f"{timeout_s:g}"]
    command = ["ping", "-n", *pace, target]
    process = subprocess.run([*prefix, *command], capture_output=True, text=True)
    return process.stdout


def self_test(settings: LinkSettings, target: str) -> SelfTest:
    """Ping `target` over the link, up to three times; return the best test that has the times of
    the settings, VclusterError if none has."""
    if not settings.up:
        return _test_down_link(target)
    rtt_ms = expected_ms(settings)
    count = _PING_COUNT if settings.loss < 0.2 else 4 * _PING_COUNT
    # so far apart that no ping waits for the one before
    interval = max(0.01, 2 * _PING_BITS / settings.rate) if settings.rate else 0.01
    tests = []
    for _ in range(_MAX_ATTEMPTS):
        tests.append(parse_ping(_ping(target, count, interval, 0.5), rtt_ms))
        if tests[-1].passed and not tests[-1].disturbed:
            break
    good_tests = [test for test in tests if test.passed]
    if not good_tests:
        raise VclusterError(f"self-test failed: {tests[-1]}")
    return min(good_tests, key=lambda test: test.p50_ms)


def _test_down_link(target: str) -> SelfTest:
    test = parse_ping(_ping(target, 2, 0.01, 0.2), 0.0)
    if test.received:
        raise VclusterError(f"self-test failed: the link is down, but {test}")
    return test
