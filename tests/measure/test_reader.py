"""What others wrote is read within limits, and a file that reaches one is named in one line."""

import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC
from pathlib import Path

import polars as pl
import pytest
from support.synthetic import SyntheticTree

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history import importer, ledger, published
from roundtrip.measure import bundle, manifest, reader, samples
from roundtrip.measure.reader import ReaderProcess, ReadingLimits

CHECKOUT = Path(__file__).parents[2]
HEAD = b"job_completion_time|info|job_nodelist|perf_var|perf_value|perf_unit\n"
ROW = b"2026-11-03T01:00:00|Check %n=2 /0123abcd @tulip:cpu+gcc|nid001|lat|1.5|us\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "cases.parquet")
    return tmp_path / "cases.parquet"


def task(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> str:
    """A task of the reader whose function has that body."""
    code = f"def run(limits, files, content):\n    {body}\n    yield b''"
    (folder / "hostile.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{CHECKOUT / 'src'}")
    return "hostile:run"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import os; os.abort()", "its decoder died of signal 6"),
        ("import os; os._exit(3)", "its decoder ended with status 3"),
        ("bytearray(1 << 40)", "reading it takes more than 640 MiB of memory; if it is a good"),
        ("import polars; polars.repeat('x', 1 << 30, eager=True)", "more than 640 MiB of memory"),
        ("while True: pass", "reading it takes more than 1 s of processor time; if it is a good"),
        ("import time; time.sleep(60)", "reading it takes more than 0.5 s: is its file system"),
    ],
)
def test_a_limit_is_named(
    table: Path, monkeypatch: pytest.MonkeyPatch, body: str, words: str
) -> None:
    monkeypatch.setattr(reader, "BASE_PROCESSOR_S", 0)
    if "sleep" in body:
        monkeypatch.setattr(reader, "_ANSWER_TIMEOUT_S", 0.5)
        monkeypatch.setattr(reader, "_EXIT_TIMEOUT_S", 0.1)
    hostile_task = task(table.parent, monkeypatch, body)
    with ReaderProcess() as file_reader:
        with pytest.raises(UserError, match=f"^{table}: [^\n]*{words}[^\n]*$"):
            list(file_reader.run_task(hostile_task, [table]))
        monkeypatch.setattr(reader, "_ANSWER_TIMEOUT_S", 60.0)
        file_reader.require_decodable([table])  # the next file has a process of its own


def test_a_table_that_makes_polars_panic(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "import polars; raise polars.exceptions.PanicException"
    hostile_task = task(table.parent, monkeypatch, body)
    with ReaderProcess() as file_reader, pytest.raises(UserError, match="its decoder failed"):
        list(file_reader.run_task(hostile_task, [table]))


def test_what_its_reader_can_say_is_left_to_it(table: Path) -> None:
    table.write_text("no table at all")
    reader.require_decodable_bundle(table.parent)
    shutil.rmtree(table.parent)
    reader.require_decodable_bundle(table.parent)


def test_rows_of_all_tables_count(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "BASE_ROWS", 1000)
    monkeypatch.setattr(reader, "ROWS_PER_BYTE", 0)
    second_table = table.with_name("points.parquet")
    for file, rows in ((table, 600), (second_table, 400)):
        pl.select(a=pl.repeat("x", rows)).write_parquet(file)
    reader.require_decodable_bundle(table.parent)
    pl.select(a=pl.repeat("x", 401)).write_parquet(second_table)
    complaint = f"^{second_table}: 1001 rows; right are at most 1000; if it is a"
    with pytest.raises(UserError, match=complaint):
        reader.require_decodable_bundle(table.parent)


def test_a_table_that_unpacks_to_much(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "BASE_MEMORY_BYTES", 110 << 20)
    pl.DataFrame({"a": ["x" * (120 << 20)]}).write_parquet(table)
    assert table.stat().st_size < 1 << 20
    with pytest.raises(UserError, match=r"cases.parquet: reading it takes more than 11\d MiB"):
        reader.require_decodable_bundle(table.parent)


def test_limits_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ReadingLimits.for_size(1 << 20).memory_bytes == reader.BASE_MEMORY_BYTES + (32 << 20)
    assert ReadingLimits.for_size(1 << 40).memory_bytes == reader.MAX_MEMORY_BYTES
    (tmp_path / "holes").touch()
    os.truncate(tmp_path / "holes", 1 << 33)
    assert reader._disk_bytes(tmp_path / "holes") == 0
    monkeypatch.setenv(reader.FACTOR_VARIABLE, "2.5")
    assert ReadingLimits.for_size(0).rows == int(2.5 * reader.BASE_ROWS)
    for factor in ("0.5", "x", "nan", "1e9"):
        monkeypatch.setenv(reader.FACTOR_VARIABLE, factor)
        with pytest.raises(UserError, match=f"{reader.FACTOR_VARIABLE}='{factor}': right is a"):
            ReadingLimits.for_size(0)


def test_large_samples_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = SyntheticTree(tmp_path / "run", launches=1, sizes=[1, 1024], samples=3).write()
    (file, *_) = sorted(tree.path.rglob("samples.csv"))
    for content in (file.read_bytes(), file.read_bytes() + b"netpipe,\n"):
        direct_samples = samples.parse(content, file)
        with monkeypatch.context() as patch:
            patch.setattr(samples, "_MAX_UNLIMITED_BYTES", 10)
            limited_samples = samples.parse_limited(content, file)
        assert limited_samples.frame.equals(direct_samples.frame)
        assert limited_samples.metadata == direct_samples.metadata
        assert [*map(str, limited_samples.faults)] == [*map(str, direct_samples.faults)]


def test_a_cache_that_unpacks_to_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.save_cache(tmp_path, published.PublishedNights(stamps={"one": "two"}))
    assert ledger.load_cache(tmp_path).stamps == {"one": "two"}
    monkeypatch.setattr(reader, "BASE_MEMORY_BYTES", 150 << 20)
    with zipfile.ZipFile(tmp_path / ledger.CACHE_FILE, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.parquet", bytes(200 << 20))
    assert not ledger.load_cache(tmp_path).stamps


def _gzip(head: bytes, part: bytes, end: bytes = b"") -> Callable[[Path], None]:
    def write(file: Path) -> None:
        with gzip.open(file, "wb", 6) as stream:
            stream.write(head)
            for _ in range(60):
                stream.write(part * (1_000_000 // len(part)))
            stream.write(end)

    return write


def _database(file: Path) -> None:
    connection = sqlite3.connect(file)
    blob = "json_blob TEXT AS (hex(zeroblob(150000000)))"
    connection.execute(f"CREATE TABLE sessions (uuid TEXT, session_start_unix REAL, {blob})")
    connection.execute("INSERT INTO sessions (uuid, session_start_unix) VALUES ('a', 1)")
    connection.commit()
    connection.close()


def _table(file: Path, name: str = "samples", rows: int = 2_000_000) -> None:
    tree = SyntheticTree(file / "run", launches=2, sizes=[1, 1024], samples=3).write()
    bundle_path = bundle.build_bundle(tree.path)
    table_file = bundle_path / f"{name}.parquet"
    small_table = pl.read_parquet(table_file)
    large_table = pl.concat([small_table.head(1)] * 1000).select(
        pl.all().repeat_by(rows // 1000).explode()
    )
    large_table.write_parquet(table_file, row_group_size=rows)
    facts = files.read_json(bundle_path / manifest.MANIFEST_FILE)
    (bundle_path / manifest.MANIFEST_FILE).unlink()
    manifest.write_unsigned(bundle_path, {name: facts[name] for name in facts if name != "files"})


def _objects(folder: Path) -> None:
    tree = SyntheticTree(folder / "run", launches=3, sizes=[1], samples=3).write()
    for launch in tree.path.glob("rounds/*/output/*/*/*/*"):
        (launch / "run.json").write_text(f"[{'[],' * 2_700_000}0]")


#: From a small process: a process begins with the peak memory of the one that starts it.
MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([done.returncode, done.stdout + done.stderr, used.ru_maxrss, seconds]))
"""
TOO_MUCH = "more than 6.. MiB of memory"
BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "report.json.gz": (_gzip(b'{"session_info": {}, "runs": [', b"[],", b"[]]}"), TOO_MUCH),
    "Check.log.gz": (_gzip(HEAD, b"x\n"), TOO_MUCH),
    "Wide.log.gz": (_gzip(HEAD + ROW.rstrip(b"\n"), b"x", b"\n"), TOO_MUCH),
    "Equal.log.gz": (_gzip(HEAD, ROW), TOO_MUCH),
    "results.db": (_database, "string or blob too big"),
    "tree": (_table, "2000112 rows; right are at most"),
    "objects": (_objects, "more than 91. MiB of memory"),
}


@pytest.mark.parametrize("name", ["results.db"])
def test_a_bomb_is_set_aside_and_the_file_beside_it_is_taken(tmp_path: Path, name: str) -> None:
    make, reason = BOMBS[name]
    make(tmp_path / name)
    (tmp_path / "Good.log").write_bytes(HEAD + ROW)
    parsed_files = {source.name: source.parsed for source in importer.read_sources([tmp_path], UTC)}
    assert parsed_files["Good.log"].rows["value"].to_list() == [1.5]
    (reject,) = parsed_files[name].rejects
    assert not parsed_files[name].rows.height
    assert re.search(reason, reject.reason)


@pytest.mark.nightly
@pytest.mark.parametrize("name", BOMBS)
def test_a_command_on_a_bomb_takes_little(tmp_path: Path, name: str) -> None:
    """Less than 1 GB and 10 s, of the command and of every process that it starts; one line."""
    make, reason = BOMBS[name]
    place = tmp_path / name
    make(place)
    command = ["import", str(place), "--site", "local"]
    if name in ("tree", "objects"):
        file = "**/manifest.json" if name == "tree" else "*/state.json"
        command = ["report", str(next(place.glob(file)).parent)]
    status, output, peak_kb, seconds = _measured(command, tmp_path)
    (line,) = output.splitlines()
    assert status == 2
    assert name in line and re.search(reason, line)
    assert 50_000 < peak_kb < 1_000_000
    assert seconds < 10


@pytest.mark.nightly
def test_a_decoder_that_stands_still_below_a_limit_of_the_user_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "Equal.log.gz"
    BOMBS[file.name][0](file)
    limit = 400 << 20
    start = time.monotonic()
    status, output, _, _ = _measured(
        ["import", str(file), "--site", "local"], tmp_path, "prlimit", f"--data={limit}"
    )
    assert time.monotonic() - start < 60, "and not after the timeout of an answer"
    assert status == 2
    assert output.endswith("takes more than 400 MiB of memory; `ulimit -d` allows no more\n")


@pytest.mark.nightly
def test_a_small_file_with_as_many_rows_as_are_right_takes_little(tmp_path: Path) -> None:
    _table(tmp_path / "tree", "points", reader.BASE_ROWS)
    (file,) = tmp_path.glob("**/points.parquet")
    assert file.stat().st_size < 1 << 20
    _, _, peak_kb, seconds = _measured(["report", str(file.parent)], tmp_path)
    assert 50_000 < peak_kb < 1_000_000
    assert seconds < 10


def _measured(command: Sequence[str], tmp_path: Path, *prefix: str) -> tuple[int, str, int, float]:
    """(Exit status, output, peak memory of a process, kB, processor seconds) of a command."""
    program = "import sys; from roundtrip.cli import main; sys.argv[0] = 'roundtrip'; main()"
    words = [*prefix, sys.executable, "-c", program, *command]
    reports, state = str(tmp_path / "reports"), str(tmp_path / "state")
    process = subprocess.run(
        [sys.executable, "-c", MEASURE, *words],
        cwd=CHECKOUT,
        env={**os.environ, "ROUNDTRIP_REPORTS": reports, "XDG_STATE_HOME": state},
        capture_output=True,
        text=True,
        check=True,
    )
    status, output, peak_kb, seconds = json.loads(process.stdout)
    return status, output, peak_kb, seconds
