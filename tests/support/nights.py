"""Published nights without their pages: bundles as the collector writes them, of invented numbers.

As a program it writes a tree of reports to measure with:
``python tests/support/nights.py REPORTS NIGHTS SERIES FIRST``.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from roundtrip.measure import analysis, bundle_tables, manifest, samples
from roundtrip.measure.bundle_rows import LAUNCH_COLUMNS

CAMPAIGN, SITE, ENVIRON = "synthetic", "local", "openmpi41-boost181"
NODE_PSEUDONYM = "node-0c1aa61a"
VARIANTS = ("mpi", "boost", "mpi-datatype", "boost-datatype", "boost-serialized")
_SIZE_COUNT = 10
_FIRST_START = datetime(2026, 1, 1, 1, tzinfo=UTC)
#: What the manifest of every bundle and the record of every launch says.
MANIFEST_FACTS: dict[str, Any] = {
    **{"finished": None, "git": {"commit": "0" * 40, "dirty": False}},
    "tools": {"roundtrip": "0.1.0"},
}
LAUNCH_RECORD: dict[str, Any] = {
    **{"study": "netpipe", "check": "NetPIPE", "environ": ENVIRON, "round": "001"},
    **{"toolchain": "Open MPI 4.1, Boost 1.81", "elapsed_s": 4.0, "ranks": 2, "simulated": False},
    **{"sealed": True, "disturbed": False, "disturbed_why": "", "clock": {"name": "MPI_Wtime"}},
    **{"mpi_library": "Open MPI v4.1.4", "boost": "1.81.0", "compiler": "GNU 12.2.0"},
    "compiler_flags": "-O3",
}
#: (night, names of the series' values) -> factor on each value.
NightChange = Callable[[int, pl.DataFrame], "np.ndarray[Any, Any] | float"]


@dataclass
class BundleWriter:
    """Publishes nights of a campaign on one site; `facts` are of their manifests."""

    campaign: ClassVar[str]
    reports: Path
    facts: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def write(self, count: int) -> list[Path]:
        return [self.night(number) for number in range(count)]

    def night(self, number: int, **changes: Any) -> Path:
        """Publish one night, with `changes` of its manifest; return the folder of its revision."""
        names = {"campaign": self.campaign, "site": SITE, "started": start_time(number)}
        facts = {**names, **MANIFEST_FACTS, **self.facts, **changes}
        site = self.reports / facts["campaign"] / facts["site"]
        return publish_revision(
            site / facts["started"][:10], lambda b: self.bundle(b, number, facts)
        )

    def bundle(self, folder: Path, number: int, facts: Mapping[str, Any]) -> str:
        """Write the bundle of a night to a new folder; return its digest."""
        raise NotImplementedError


@dataclass
class NightWriter(BundleWriter):
    """A writer of nights of one campaign on one site; its numbers are reproducible.

    `sd` of the nights and `noise` of launches are relative.  `change` gives the factor of a night
    on the values of its series, a frame with case_id, variant and size_bytes.  `host` gives facts
    of a night's machine, `disturbed` and `nodes` what its launches say, `kernel` what their nodes
    do, `record` what else is in the record of its launches, by night.
    """

    campaign = CAMPAIGN
    series: int = 10
    launches: int = 3
    samples: int = 3
    sd: float = 0.01
    noise: float = 0.005
    seed: int = 1
    change: NightChange = lambda _, __: 1.0
    host: Callable[[int], Mapping[str, Any]] = lambda _: {}
    disturbed: Callable[[int], bool] = lambda _: False
    nodes: Callable[[int], str] = lambda _: NODE_PSEUDONYM
    kernel: Callable[[int], str] = lambda _: "5.14.0-427"
    record: Callable[[int], Mapping[str, Any]] = lambda _: {}

    def bundle(self, folder: Path, number: int, facts: Mapping[str, Any]) -> str:
        records = self._records(number, facts["started"])
        text = 'title = "Synthetic nights"\nlaunches = 3\n'
        host = {"system": {"kernel": "6.1.0"}, "cpu": {"logical": 2}, **self.host(number)}
        return write_bundle(
            folder, facts, records, self._samples(number), text, {"host.json": host}
        )

    def _cases(self) -> list[str]:
        per_case = len(VARIANTS) * _SIZE_COUNT
        count = -(-self.series // per_case)
        return [f"NetPIPE/number={n:02d}@local:smp+{ENVIRON}" for n in range(count)]

    def _series(self) -> pl.DataFrame:
        """The series, in order: case_id, variant, size_bytes, base (s)."""
        sizes = [4**k for k in range(_SIZE_COUNT)]
        series = (
            pl.DataFrame({"case_id": self._cases()})
            .join(pl.DataFrame({"variant": VARIANTS}), how="cross")
            .join(pl.DataFrame({"size_bytes": sizes}), how="cross")
            .head(self.series)
        )
        return series.with_columns(base=1e-6 + pl.col("size_bytes") * 1e-9)

    def _records(self, number: int, start_time: str) -> list[dict[str, Any]]:
        hosts = self.nodes(number).split("+")
        record = {
            **{**LAUNCH_RECORD, "system": SITE, "partition": "smp", "status": "passed"},
            **{"reason": "", "wanted": self.launches, "started": start_time, "hosts": hosts},
            "disturbed": self.disturbed(number),
            "nodes": [{"host": host, "kernel": self.kernel(number)} for host in hosts],
            "placement": [{"rank": r, "host": hosts[0], "cpus": [r]} for r in (0, 1)],
            **self.record(number),
        }
        return [
            {
                "launch": f"001/x/NetPIPE_{case[15:17]}/{n}",
                "case_id": case,
                "campaign_round": n + 1,
                **record,
            }
            for case in self._cases()
            for n in range(self.launches)
        ]

    def _samples(self, number: int) -> pl.DataFrame:
        rng = np.random.default_rng([self.seed, number])
        series = self._series()
        factor = np.exp(self.sd * rng.standard_normal(series.height))
        values = series["base"].to_numpy() * factor * self.change(number, series)
        shape = (self.launches, series.height, self.samples)
        sample_values = values[None, :, None] * np.exp(self.noise * rng.standard_normal(shape))
        count = self.launches * self.samples
        numbers = pl.DataFrame({"n": np.arange(self.launches)})
        rows = numbers.join(series, how="cross").join(
            pl.DataFrame({"rep": np.arange(self.samples)}), how="cross"
        )
        assert rows.height == count * series.height
        launch = pl.col("case_id").str.slice(15, 2) + "/" + pl.col("n").cast(pl.String)
        schema = {**LAUNCH_COLUMNS, **samples.CSV_SCHEMA}
        return (
            rows.with_columns(
                value=pl.Series(sample_values.ravel()),
                launch=pl.lit("001/x/NetPIPE_") + launch,
                study=pl.lit("netpipe"),
                case=pl.lit("pingpong/same"),
                phase=pl.lit("measure"),
                metric=pl.lit("half_round_trip_time"),
                unit=pl.lit("s"),
            )
            .select(*schema)
            .cast(pl.Schema(schema))
            .sort("case_id", "launch", "variant", "size_bytes", "rep")
        )


def start_time(number: int) -> str:
    """The start of night `number`, from 0, as in a manifest."""
    return (_FIRST_START + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")


def make_checkout(folder: Path) -> Path:
    """Make a checkout in `folder` with nothing but the folder of `SITE`, which is returned."""
    for name in ("campaigns", "checks", f"site-configs/{SITE}"):
        (folder / name).mkdir(parents=True)
    return folder / "site-configs" / SITE


def write_bundle(
    folder: Path,
    facts: Mapping[str, Any],
    records: Iterable[dict[str, Any]],
    rows: pl.DataFrame,
    text: str,
    environment: Mapping[str, Any],
) -> str:
    """Write a bundle of these launches and samples to a new folder; return its digest.

    `text` is that of campaign.toml; `environment` has the contents of files in env/.
    """
    (folder / "env").mkdir(parents=True)
    tables = bundle_tables.make_tables(records)
    medians = bundle_tables.launch_medians(rows.lazy(), tables.frames["cases"], 0.95)
    bundle_tables.write_tables(tables, rows, medians, folder)
    (folder / "analysis.toml").write_text(analysis.default_toml())
    (folder / "campaign.toml").write_text(text)
    for name, content in environment.items():
        (folder / "env" / name).write_text(json.dumps(content))
    return manifest.write_unsigned(folder, dict(facts)).digest


def publish_revision(
    night: Path, write: Callable[[Path], str], supersedes: str | None = None
) -> Path:
    """Publish the next revision in folder `night`, without a page; return its folder.

    `write` writes the bundle to a folder, and returns its digest.
    """
    revision = night / f"r{1 + len(list(night.glob('r*')))}"
    digest = write(revision / "bundle")
    facts = {"schema": 1, "digest": digest, "supersedes": supersedes, "reason": supersedes}
    (revision / "report.json").write_text(json.dumps({**facts, "files": {}}))
    return revision


if __name__ == "__main__":
    length, width, start = map(int, sys.argv[2:])
    writer = NightWriter(Path(sys.argv[1]), width, launches=9, samples=9)
    for one in range(start, start + length):
        writer.night(one)
