"""Platforms of simulated sites, and simulations on them by SimGrid's ``smpirun``.

A platform ``site-configs/<site>/platforms/<name>.xml`` is a file of SimGrid with ``<cluster>``
elements and the placeholders `${host_flops}`, the speed of a host, and, where round trips can be
made longer, `${added_us}`, half of the addition.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from xml.etree import ElementTree

from roundtrip import files, paths
from roundtrip.errors import UserError

#: What a launch finds beside it.
PLATFORM_FILE, HOSTS_FILE = "platform.xml", "hosts.txt"
#: The environment in which a workload finds what it runs on.
NAME, FLOPS, SHA256 = (
    f"ROUNDTRIP_SIMULATED_{what}" for what in ("PLATFORM", "HOST_FLOPS", "PLATFORM_SHA256")
)


@dataclass(frozen=True)
class Platform:
    """A platform: speed of a host [flop/s], `text` of its file, `hosts` in the order of ranks."""

    name: str
    host_flops: float
    text: str
    hosts: tuple[str, ...]

    @property
    def variables(self) -> dict[str, str]:
        """What a workload is told of it, by environment variable."""
        return {NAME: self.name, FLOPS: f"{self.host_flops:.17g}", SHA256: self.sha256}

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def facts(self) -> dict[str, str | float]:
        """What a workload tells of it in `simulated` of run.json."""
        known = {"platform": self.name, "platform_sha256": self.sha256}
        return {**known, "host_flops": self.host_flops}

    def write(self, folder: Path, ranks: int) -> None:
        """Write the platform, and a host for each of `ranks` ranks, into `folder`.

        UserError if it has fewer hosts.
        """
        if ranks > len(self.hosts):
            raise UserError(f"platform '{self.name}' has {len(self.hosts)} hosts, not {ranks}")
        (folder / PLATFORM_FILE).write_text(self.text)
        (folder / HOSTS_FILE).write_text("".join(f"{host}\n" for host in self.hosts[:ranks]))


def read_platform(file: Path, host_flops: float, added_rtt_ms: float | None = None) -> Platform:
    """The platform in `file`, its hosts of so many flop/s, its round trips longer by so many ms.

    UserError if `file` is no platform, or has no place for what is asked or a place for more.
    """
    if not host_flops > 0:
        raise UserError(f"a host of {host_flops:g} flop/s computes nothing")
    values = {"host_flops": f"{host_flops:.17g}"}
    if added_rtt_ms is not None:
        if added_rtt_ms < 0:
            raise UserError(f"a round trip cannot be longer by {added_rtt_ms:g} ms")
        values["added_us"] = f"{added_rtt_ms * 500:.17g}"
    template = Template(files.read_text(file))
    places = set(template.get_identifiers())
    if places != values.keys():
        known = ", ".join(f"${{{name}}}" for name in sorted(places)) or "nothing"
        wanted = ", ".join(f"${{{name}}}" for name in values)
        raise UserError(f"the platform asks for {known}, and it is given {wanted}", file)
    text = template.substitute(values)
    try:
        found = ElementTree.fromstring(text)  # noqa: S314  a file of the site, no foreign data
        clusters = found.findall(".//cluster")
        hosts = tuple(name for cluster in clusters for name in _hosts(cluster.attrib))
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise UserError(f"it is no platform of clusters: {error}", file) from None
    if not hosts:
        raise UserError("it is no platform of clusters: it has no <cluster>", file)
    return Platform(file.stem, host_flops, text, hosts)


def _hosts(cluster: dict[str, str]) -> list[str]:
    """Names of the hosts of a `cluster`: ``radical`` is a list of numbers and of ranges."""
    numbers: list[int] = []
    for part in cluster["radical"].split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return [f"{cluster['prefix']}{number}{cluster['suffix']}" for number in numbers]


_WRONG = re.compile(r"^.*(?:deadlock|CRITICAL|MPI_Abort).*$", re.MULTILINE | re.IGNORECASE)


def fault(said: str) -> str:
    """The line of `said`, its standard error, by which a simulation went wrong; "" for none."""
    wrong = _WRONG.search(said)
    return wrong[0].strip() if wrong else ""


#: Of the toolchain with SimGrid.
_TOOLCHAIN = "smpi"
#: Its root category at "critical" hides the warning of MPI_Abort, by which `ended` knows one.
LOGGED = ("--log=root.thres:critical", "--log=smpi_pmpi.thres:warning")
_MISSING = "SimGrid is not installed: roundtrip toolchains smpi-boost181"


def smpirun() -> Path:
    """``smpirun`` of the toolchain, else of PATH.  UserError if there is none."""
    own = paths.toolchains() / _TOOLCHAIN / "bin" / "smpirun"
    found = own if own.is_file() else shutil.which("smpirun")
    if found is None:
        raise UserError(_MISSING)
    return Path(found)


def run_smpirun(
    words: Sequence[str], ranks: int, platform: Platform, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run ``smpirun`` with the options and the program in `words`, in `folder`.

    UserError if it fails, or says that it did although its status is 0.
    """
    for word in words:
        if word.split() != [word]:
            raise UserError(f"smpirun takes no blanks: '{word}'")
    platform.write(folder, ranks)
    options = ["-np", str(ranks), "-platform", PLATFORM_FILE, "-hostfile", HOSTS_FILE]
    done = subprocess.run(
        [smpirun(), *options, *LOGGED, *words],
        cwd=folder,
        env={**os.environ, **platform.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wrong = fault(done.stderr)
    if wrong or done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[0]
        raise UserError(f"smpirun ended with status {done.returncode}: {wrong or last}")
    return done
