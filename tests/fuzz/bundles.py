"""The readers of a bundle's files, those of the nights before it too: good bundles to mutate, and
bundles with a changed file.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from pathlib import Path

from support.nights import CAMPAIGN, SITE, NightWriter, start_time
from support.synthetic import SyntheticTree

from roundtrip.content import data
from roundtrip.content.blocks import Report
from roundtrip.history import ledger
from roundtrip.history.annotations import Annotation
from roundtrip.measure import bundle, manifest, reader
from roundtrip.report import renderers
from roundtrip.report.sections import history

ENVIRON = "openmpi41-boost181"
#: The tables that a bundle holds of them.
NIGHT_TABLES = tuple(
    f"{manifest.HISTORY_PREFIX}{name}.parquet"
    for name in ("nights", "provenance", "notes", "accepted")
)
_NIGHTS = 14
_apart: ContextVar[bool] = ContextVar("_apart", default=False)


@cache
def tree() -> SyntheticTree:
    """A small run tree and, in its ``bundles/``, its bundle; never changed."""
    run_tree = SyntheticTree(
        Path(tempfile.mkdtemp(prefix="roundtrip-fuzz-")) / "run",
        launches=2,
        samples=2,
        sizes=[1, 1024],
        environs=(ENVIRON,),
        extras={"emulated": {"wan_rtt_ms": 2}},
    )
    run_tree.write()
    bundle.build_bundle(run_tree.path)
    return run_tree


def built() -> Path:
    return next((tree().path / "bundles").iterdir())


def seeds(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(built() / name).read_bytes()]


@contextmanager
def decoding_apart() -> Iterator[None]:
    """Tables are first decoded in a process of their own, as the commands do."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def check_of(
    name: str,
    forged: bool = False,
    whose: Callable[[], Path] = built,
    then: Callable[[data.BundleData], None] = lambda _: None,
) -> Callable[[bytes, bytes, Path], bool]:
    """A file of the bundle `whose`; `forged`: its manifest vouches for it; `then` uses it."""

    def check(content: bytes, seed: bytes, folder: Path) -> bool:
        original = whose()
        copy = Path(shutil.copytree(original, folder / "bundle"))
        try:
            (copy / name).write_bytes(content)
            if forged:
                facts = manifest.verify(original).data
                (copy / manifest.MANIFEST_FILE).unlink()
                manifest.write_unsigned(copy, {k: facts[k] for k in facts if k != "files"})
            if _apart.get():
                reader.require_decodable_bundle(copy)
            bundle_data = data.read_bundle(copy)
            bundle_data.samples.collect()
            then(bundle_data)
            return True
        finally:
            shutil.rmtree(copy)

    return check


@cache
def night_bundle() -> Path:
    """A night with others before it, on which the kernel changed and somebody said so."""
    folder = Path(tempfile.mkdtemp(prefix="roundtrip-fuzz-")) / "reports"
    writer = NightWriter(
        folder,
        series=3,
        launches=2,
        samples=2,
        change=lambda night, _: 1.2 if night >= _NIGHTS // 2 else 1.0,
        kernel=lambda night: "6.1" if night >= _NIGHTS // 2 else "6.0",
    )
    newest_bundle = writer.write(_NIGHTS)[-1] / "bundle"
    annotations = [
        Annotation.model_validate({"from": datetime.fromisoformat(start_time(night)), **fields})
        for night, fields in (
            (_NIGHTS // 2, {"text": "a new kernel"}),
            (0, {"text": "as bought", "kind": "accepted"}),
        )
    ]
    night_ledger = ledger.read_ledger(folder, CAMPAIGN, SITE, annotations)
    ledger.attach_history(newest_bundle, manifest.verify(newest_bundle), night_ledger, annotations)
    return newest_bundle


def show_nights(night_data: data.BundleData) -> None:
    """Draws what the nights show: whatever the readers took must have its place on the page."""
    part = history.build_section(night_data)
    renderers.render_html(
        Report("", (), (), (part,), history_series_keys=night_data.past_series_medians.keys)
    )
