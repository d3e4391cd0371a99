"""Every reader of what others wrote: good inputs to mutate, and what must hold of any input.

A check returns whether the reader accepted the content.  UserError is a rejection; whatever else
is raised is a finding.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.bundles import RECORDED_BUNDLES
from support.launches import link_record

from fuzz import bundles, foreign
from fuzz.mutate import written
from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import analysis, campaign_file, disturbance, launch, records, samples
from roundtrip.measure.bundle_rows import SCHEMA_BY_TABLE
from roundtrip.measure.completion import SessionReport
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.launch import Launch
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.measure.public_files import EnvironmentFiles
from roundtrip.sites import lock

DATA = Path(__file__).parents[1] / "data"
_DETAILS = "details/ring.parquet"
Check = Callable[[bytes, bytes, Path], bool]


@dataclass(frozen=True)
class Reader:
    """`seeds` are good contents; `check(content, seed, folder)` may write below `folder`."""

    seeds: Callable[[], list[bytes]]
    check: Check


def _launch_file(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(bundles.tree().launch_folder(1, bundles.ENVIRON) / name).read_bytes()]


def _run_file(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(bundles.tree().path / name).read_bytes()]


def _recorded(pattern: str, folder: Path = DATA) -> Callable[[], list[bytes]]:
    """The contents of the files of that pattern."""
    return lambda: [file.read_bytes() for file in sorted(folder.glob(pattern))]


def _samples(content: bytes, seed: bytes, folder: Path) -> bool:
    file = Path("samples.csv")
    result = samples.parse(content, file)
    _, body, line, _ = samples._parse_head(content, file)
    if body is not None:
        slow_frame, problems = samples._parse_lines(body, line, file)
        assert result.frame.equals(slow_frame), "the fast and the slow reader differ"
        assert problems or samples._parse_fast(body) is not None or b'"' in body, (
            "the fast one refuses"
        )
    seed_rows = {row for row in seed.split(b"\n") if row.startswith(b"netpipe,")}
    count = sum(row in seed_rows for row in (body or b"").split(b"\n")[:-1])
    assert result.frame.height >= count, "a good row was lost"
    seed_result = samples.parse(seed, file)
    seal = samples.make_seal(seed, seed_result.frame)
    is_proven = not result.faults and not samples.seal_mismatch(
        files.sha256(content), result.frame, seal
    )
    assert is_proven == (content == seed), "a bad row was kept, or a good file refused"
    return not result.faults


def _record(name: str) -> Check:
    def check(content: bytes, seed: bytes, folder: Path) -> bool:
        record = records.read_record(written(content, folder / name))
        if name == "state.json":
            return True
        launch_records = {
            file: records.read_record(bundles.tree().launch_folder(1, bundles.ENVIRON) / file)
            for file in _BOTH
        }
        launch_records[name] = record
        case, run = launch_records["case.json"], launch_records["run.json"]
        launch.require_column_types(
            Launch(
                "a/b/c",
                records.case_id(case),
                "passed",
                "",
                "a",
                "b",
                case_record=case,
                run_record=run,
            )
        )
        return True

    return check


_BOTH = ("case.json", "run.json")


def _session(content: bytes, seed: bytes, folder: Path) -> bool:
    report = SessionReport.read(written(content, folder / "report.json"))
    for test in report.tests:
        (test.failure_reason(report) + test.case_id + test.folder_name + test.hash).encode()
    return report.is_readable


def _campaign(content: bytes, seed: bytes, folder: Path) -> bool:
    campaign = campaign_file.load_campaign(written(content, folder / "campaign.toml"))
    assert campaign.launches >= 1
    assert campaign.checks
    return True


def _analysis(content: bytes, seed: bytes, folder: Path) -> bool:
    settings = analysis.load(written(content, folder / "analysis.toml"))
    assert 0 < settings.statistics.confidence_level < 1
    return True


def _environment(content: bytes, seed: bytes, folder: Path) -> bool:
    (folder / "env").mkdir(exist_ok=True)
    file = written(content, folder / "env" / "host.json")
    machine = files.read_object_in_tree(file, folder)
    cores = disturbance.processor_count({"hosts": ["thunderbolt.example.org"]}, machine)
    environment = EnvironmentFiles.read(folder)
    names = Redactor(Pseudonyms(environment.host_names(), b"key"), environment.private_words())
    shutil.rmtree(folder / "written", ignore_errors=True)
    environment.write_public_parts(folder / "written", names)
    return cores is not None


def _lock(content: bytes, seed: bytes, folder: Path) -> bool:
    spack_lock = lock.read_lock(written(content, folder / "spack.lock"))
    lock.describe_extra_builds(spack_lock)
    lock.describe_mixed_targets(spack_lock)
    return True


def _of_nights(name: str) -> tuple[Callable[[], list[bytes]], Check]:
    """Seeds and check of a table of the nights before a run."""
    check = bundles.check_of(name, True, bundles.night_bundle, bundles.show_nights)
    return lambda: [(bundles.night_bundle() / name).read_bytes()], check


def _link(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether it is the record of a link; its fault is one line."""
    (folder / records.LINK_FILE).write_bytes(content)
    record = records.read_link_record(folder)
    assert record is not None
    assert "\n" not in launch.link_failure_reason(record)
    return True


_CAMPAIGNS = Path(__file__).parents[2] / "campaigns"
_LOCK = Path(__file__).parents[1] / "sites" / "data" / "environment"
_RING = RECORDED_BUNDLES / "ring"
READERS = {
    "samples.csv": Reader(_launch_file("samples.csv"), _samples),
    "run.json": Reader(_launch_file("run.json"), _record("run.json")),
    "case.json": Reader(_launch_file("case.json"), _record("case.json")),
    "link.json": Reader(lambda: [json.dumps(link_record()).encode()], _link),
    "state.json": Reader(_run_file("state.json"), _record("state.json")),
    "report.json of a session": Reader(_run_file("rounds/001/report.json"), _session),
    "campaign": Reader(_recorded("*.toml", _CAMPAIGNS), _campaign),
    "analysis.toml": Reader(lambda: [analysis.default_toml().encode()], _analysis),
    "env/host.json": Reader(_run_file("env/host.json"), _environment),
    "manifest.json": Reader(bundles.seeds("manifest.json"), bundles.check_of("manifest.json")),
    "samples.parquet": Reader(
        bundles.seeds("samples.parquet"), bundles.check_of("samples.parquet", forged=True)
    ),
    **{
        name: Reader(bundles.seeds(name), bundles.check_of(name, forged=True))
        for name in map("{}.parquet".format, SCHEMA_BY_TABLE)
    },
    **{name: Reader(*_of_nights(name)) for name in bundles.NIGHT_TABLES},
    "details": Reader(_recorded(_DETAILS, _RING), bundles.check_of(_DETAILS, True, lambda: _RING)),
    "spack.lock": Reader(_recorded("spack.lock", _LOCK), _lock),
    "logs of ReFrame": Reader(_recorded("reframe/*/*.log*"), foreign.log),
    "reports of ReFrame": Reader(_recorded("reframe/*/*.json"), foreign.any_file),
    "databases of ReFrame": Reader(_recorded("reframe/*/*.db"), foreign.any_file),
    "imported values": Reader(foreign.values_seeds, foreign.values),
    "annotations.yaml": Reader(foreign.annotation_seeds, foreign.annotated),
    "NetPIPE": Reader(_recorded("netpipe/*.full.out"), foreign.netpipe),
    "NPB": Reader(_recorded("npb/*.txt"), foreign.npb),
    "osu_latency": Reader(_recorded("osu/osu_latency.7*.openmpi.txt"), foreign.osu("latency")),
    "osu_mbw_mr": Reader(_recorded("osu/osu_mbw_mr.*.openmpi.txt"), foreign.osu("mbw_mr")),
}


def accepted(reader: Reader, content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether the reader took the content; whatever it raises but UserError is a finding."""
    try:
        return reader.check(content, seed, folder)
    except UserError as error:
        assert "\n" not in str(error), "an error of more than one line"
        return False
