"""A generator of run trees: what a campaign leaves, without running one.

Seeded; times follow latency + size / bandwidth with log-normal noise, and launches are bimodal
(some see 2.5 times the latency), as measured on shared two-core machines.

As a program it writes a large tree to look at by hand:
``python tests/support/synthetic.py FOLDER [SAMPLES_PER_POINT [ENVIRON...]]``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from roundtrip.measure import pseudonyms, samples
from roundtrip.measure.pseudonyms import Pseudonyms

CSV_HEADER = "study,case,variant,size_bytes,phase,rep,metric,value,unit"
VARIANTS = ("mpi", "boost", "mpi-datatype", "boost-datatype", "boost-serialized")
#: Latency s, added latency of Boost.MPI s, s/byte, s/byte of datatypes, s/byte of serializing.
TOOLCHAINS = {
    "openmpi41-boost181": ("Open MPI 4.1, Boost 1.81", 0.28e-6, 6e-9, 1.1e-10, 1.3e-9, 9e-9),
    "mpich40-boost181": ("MPICH 4.0, Boost 1.81", 0.36e-6, 5e-9, 1.3e-10, 1.5e-10, 11e-9),
    "openmpi50-boost181": ("Open MPI 5.0, Boost 1.81", 0.31e-6, 60e-9, 1.0e-10, 1.1e-9, 8e-9),
    "mpich50-boost174": ("MPICH 5.0, Boost 1.74", 0.24e-6, 4e-9, 1.2e-10, 1.4e-10, 12e-9),
}
HOST = "thunderbolt.example.org"
SIZES = sorted({1, 2, 3, *(2**k for k in range(2, 24)), *(3 * 2**k for k in range(1, 22))})
#: case.json of a launch, but for the names of its case.
CASE_RECORD: dict[str, Any] = {
    **{"schema": 1, "study": "netpipe", "features": [], "extras": {}},
    **{"num_tasks": 2, "num_nodes": 1, "emulated": None, "simulated": False},
}
#: run.json of a launch, but for its points and the seal of its samples.
RUN_RECORD: dict[str, Any] = {
    **{"schema": 1, "workload": "netpipe", "version": "0.1.0", "complete": True},
    "command": ["netpipe", "--variants=all"],
    "mpi": {"standard": "3.1", "library": "Open MPI v4.1.4, package: Debian OpenMPI"},
    "boost": "1.81.0",
    "compiler": {"id": "GNU", "version": "12.2.0", "flags": "-O3 -DNDEBUG"},
    "clock": {"name": "MPI_Wtime", "resolution_s": 1e-9, "overhead_s": 3.1e-8},
    **{"ranks": 2, "hosts": [HOST]},
    "placement": [{"rank": rank, "host": HOST, "cpus": [rank]} for rank in (0, 1)],
    "nodes": [
        {
            **{"host": HOST, "kernel": "6.1.0-40-amd64", "processor": "Example CPU 3000 @ 2.40GHz"},
            **{"microcode": "0x1", "firmware": None, "governor": "performance"},
            "adapters": ["mlx5_0: MT_0000000223, firmware 20.31.1014"],
        }
    ],
    "start_time": "2026-11-21T07:00:00Z",
    **{"elapsed_s": 4.2, "seed": 1, "budget_s": 5.0, "warmup_discarded": 4210},
    "disturbance": {
        **{"load_average_start": [0.4, 0.5, 0.5], "load_average_end": [1.9, 0.9, 0.6]},
        **{"involuntary_context_switches": [12, 9], "core_migrations": [0, 0], "steal_s": 0.01},
    },
}
#: A point of run.json.
POINT_RECORD: dict[str, Any] = {
    **{"case": "pingpong/same", "variant": "mpi", "size_bytes": 1, "samples": 1, "batch": 1},
    **{"median_s": 1e-6, "ci_relative_half_width": 0.011, "status": "budget", "verified": True},
}


def pseudonym(host: str = HOST, site: str = "local") -> str:
    """The pseudonym of a host of `site` in bundles of this test session."""
    return Pseudonyms([host], pseudonyms.ensure_site_key(site)).pseudonym(host)


@dataclass
class SyntheticTree:
    path: Path
    launches: int = 8
    samples: int = 12
    seed: int = 1
    sizes: list[int] = field(default_factory=lambda: SIZES)
    environs: tuple[str, ...] = ("openmpi41-boost181", "mpich40-boost181")
    mode: str = "pingpong"
    steady: bool = False  # no launch sees 2.5 times the latency
    started: str = "2026-11-21T07:00:00Z"
    extras: dict[str, Any] = field(default_factory=dict)
    expected: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)

    def write(self) -> SyntheticTree:
        self.path.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(self.seed)
        for environ in self.environs:
            self.expected.append({"case": self.case_id(environ), "launches": self.launches})
        for number in range(1, self.launches + 1):
            tests = [self.write_launch(number, environ, rng) for environ in self.environs]
            self.write_report(number, tests)
        self.write_environment()
        return self

    def case_id(self, environ: str) -> str:
        return f"NetPIPE/mode={self.mode},placement=shared-memory@local:smp+{environ}"

    def launch_folder(self, number: int, environ: str, part: str = "output") -> Path:
        below = self.path / "rounds" / f"{number:03d}" / part / "local" / "smp"
        return below / environ / f"NetPIPE_{self.mode[:4]}"

    def write_launch(self, number: int, environ: str, rng: np.random.Generator) -> dict[str, Any]:
        """Write the files of one launch; return its entry in ReFrame's report."""
        folder = self.launch_folder(number, environ)
        folder.mkdir(parents=True)
        frame = self.sample_frame(environ, rng)
        (folder / "samples.csv").write_text('# schema: 1\n# workload: "netpipe"\n')
        with (folder / "samples.csv").open("ab") as stream:
            frame.write_csv(stream, float_precision=None)
        self.write_case(folder, environ)
        self.write_run_record(folder, frame, number)
        (folder / "rfm_job.out").write_text("ROUNDTRIP COMPLETE ranks=2 hosts=1\n")
        return self.report_entry(number, environ, "pass")

    def sample_frame(self, environ: str, rng: np.random.Generator) -> pl.DataFrame:
        _, latency, boost, per_byte, per_datatype, per_object = TOOLCHAINS[environ]
        slowdown = 2.5 if rng.random() < 0.25 and not self.steady else 1.0
        drift = 1 + 0.03 * rng.standard_normal()
        frames = []
        for variant in VARIANTS:
            sizes = np.array([s for s in self.sizes if variant != VARIANTS[4] or s <= 3 << 19])
            rate = {"mpi": per_byte, "boost": per_byte, "boost-serialized": per_object}
            time = latency * slowdown + sizes * rate.get(variant, per_datatype)
            time += (boost if variant.startswith("boost") else 0) + (sizes > 4096) * 1.2e-6
            time += 6e-7 if variant == "boost-serialized" else 0
            size = np.repeat(sizes, self.samples)
            noise = np.exp(0.03 * rng.standard_normal(size.size))
            frames.append(
                pl.DataFrame(
                    {
                        "variant": variant,
                        "size_bytes": size,
                        "rep": np.tile(np.arange(self.samples), sizes.size),
                        "value": np.repeat(time, self.samples) * drift * noise,
                    }
                )
            )
        metric = "half_round_trip_time" if self.mode == "pingpong" else "time_per_message"
        return pl.concat(frames).select(
            study=pl.lit("netpipe"),
            case=pl.lit(f"{self.mode}/same"),
            variant="variant",
            size_bytes="size_bytes",
            phase=pl.lit("measure"),
            rep="rep",
            metric=pl.lit(metric),
            value="value",
            unit=pl.lit("s"),
        )

    def write_case(self, folder: Path, environ: str, **changes: Any) -> None:
        parameters = {"mode": self.mode, "placement": "shared-memory"}
        suffix = "".join(f" %{key}={value}" for key, value in parameters.items())
        case = {
            **CASE_RECORD,
            **{"check": "NetPIPE", "display_name": f"NetPIPE{suffix}", "hash": "26ad4637"},
            **{"parameters": parameters, "system": "local", "partition": "smp"},
            "environ": environ,
            "features": ["shared-memory", "mpi", "boost"],
            "extras": {"toolchain": TOOLCHAINS[environ][0]},
            **self.extras,
            **changes,
        }
        (folder / "case.json").write_text(json.dumps(case, indent=1))

    def write_run_record(
        self, folder: Path, frame: pl.DataFrame, number: int, **changes: Any
    ) -> None:
        medians = frame.group_by("variant", "size_bytes", maintain_order=True).agg(
            pl.col("value").median(), pl.len()
        )
        points = [
            {
                **POINT_RECORD,
                "case": f"{self.mode}/same",
                "variant": variant,
                "size_bytes": size,
                "samples": count,
                "batch": max(1, round(2e-5 / median)),
                "median_s": median,
                "status": "converged" if size < 1 << 20 else "budget",
            }
            for variant, size, median, count in medians.iter_rows()
        ]
        if max(self.sizes) > 3 << 19:
            point = {"variant": VARIANTS[4], "size_bytes": 2 << 20, "samples": 0, "batch": None}
            points.append(
                {**points[0], **point, "median_s": None, "status": "bounded", "verified": False}
            )
        is_disturbed = number % 5 == 0
        run = {
            **RUN_RECORD,
            "start_time": f"2026-11-21T07:{number:02d}:00Z",
            "seed": number,
            "disturbance": {
                **RUN_RECORD["disturbance"],
                "load_average_start": [0.4 + 4 * is_disturbed, 0.5, 0.5],
                "involuntary_context_switches": [12, 2300 if is_disturbed else 9],
            },
            "points": points,
            "samples": samples.make_seal((folder / "samples.csv").read_bytes(), frame),
            **changes,
        }
        (folder / "run.json").write_text(json.dumps(run))

    def report_entry(
        self, number: int, environ: str, result: str, **changes: Any
    ) -> dict[str, Any]:
        """The entry of a launch in ReFrame's run report, with `changes`."""
        return {
            "name": f"NetPIPE %mode={self.mode} %placement=shared-memory",
            "display_name": f"NetPIPE %mode={self.mode} %placement=shared-memory",
            "hashcode": "26ad4637",
            "environ": environ,
            "partition": "smp",
            "system": "local",
            "result": result,
            "fixture": False,
            "fail_phase": None,
            "fail_reason": None,
            "job_exitcode": 0,
            "stagedir": str(self.launch_folder(number, environ, "stage")),
            **changes,
        }

    def write_report(self, number: int, tests: list[dict[str, Any]]) -> None:
        file = self.path / "rounds" / f"{number:03d}" / "report.json"
        file.write_text(json.dumps({"session_info": {}, "runs": [{"testcases": tests}]}))

    def fail_launch(self, number: int, environ: str, **changes: Any) -> Path:
        """Make a launch a failed one: move its files to the stage folder, which is returned."""
        stage = self.launch_folder(number, environ, "stage")
        stage.parent.mkdir(parents=True, exist_ok=True)
        self.launch_folder(number, environ).rename(stage)
        report = self.path / "rounds" / f"{number:03d}" / "report.json"
        tests = json.loads(report.read_text())["runs"][0]["testcases"]
        other_tests = [test for test in tests if test["environ"] != environ]
        self.write_report(
            number, [*other_tests, self.report_entry(number, environ, "fail", **changes)]
        )
        return stage

    def amend_json(self, pattern: str, **facts: Any) -> None:
        """Change facts in every JSON file that `pattern` matches, in any folder."""
        for file in self.path.rglob(pattern):
            file.write_text(json.dumps({**json.loads(file.read_text()), **facts}))

    def write_environment(self) -> None:
        state = {
            "schema": 1,
            "campaign": "synthetic",
            "site": "local",
            "started": self.started,
            "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
            "repeats": self.launches,
            "expected": self.expected,
            "skipped": self.skipped,
            "finished": "2026-11-21T07:59:00Z",
        }
        (self.path / "state.json").write_text(json.dumps(state, indent=1))
        (self.path / "campaign.toml").write_text(
            'title = "What does Boost.MPI cost over raw MPI on this machine?"\n'
            f"launches = {self.launches}\n"
        )
        host = {
            "schema": 1,
            "hostname": HOST,
            "cpu": {
                "model": "Example CPU 3000 @ 2.40GHz",
                "logical": 2,
                "cores": 2,
                "governors": ["performance"],
                "caches": [{"level": 1, "kind": "Data", "size_kib": 32, "shared_by": 1}],
            },
            "system": {"kernel": "6.1.0-40-amd64", "distribution": "Debian GNU/Linux 12"},
            "load_average": [0.4, 0.5, 0.5],
        }
        (self.path / "env").mkdir(exist_ok=True)
        (self.path / "env" / "host.json").write_text(json.dumps(host))
        smp = {"name": "smp", "scheduler": "local", "launcher": "mpirun", "environs": self.environs}
        site = {"name": "local", "hostnames": ["thunderbolt"], "partitions": [smp]}
        (self.path / "env" / "site-config.json").write_text(json.dumps(site))


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    names = tuple(sys.argv[3:]) or ("openmpi41-boost181", "mpich40-boost181")
    SyntheticTree(Path(sys.argv[1]), samples=count, environs=names).write()
