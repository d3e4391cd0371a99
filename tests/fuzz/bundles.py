"""The readers of a bundle's files: good bundles to mutate, and bundles with a changed file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from support.synthetic import Tree

from roundtrip.measure import bundle, manifest, reader
from roundtrip.report import data

ENVIRON = "openmpi41-boost181"
_apart: ContextVar[bool] = ContextVar("_apart", default=False)


@cache
def tree() -> Tree:
    """A small run tree and, in its ``bundles/``, its bundle; never changed."""
    import tempfile

    run_tree = Tree(
        Path(tempfile.mkdtemp(prefix="roundtrip-fuzz-")) / "run",
        launches=2,
        samples=2,
        sizes=[1, 1024],
        environs=(ENVIRON,),
        extras={"emulated": {"wan_rtt_ms": 2}},
    )
    run_tree.write()
    bundle.build(run_tree.path)
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
    then: Callable[[data.Data], None] = lambda _: None,
) -> Callable[[bytes, bytes, Path], bool]:
    """A file of the bundle `whose`; `forged`: its manifest vouches for it; `then` uses it."""

    def check(content: bytes, seed: bytes, folder: Path) -> bool:
        original = whose()
        copy = Path(shutil.copytree(original, folder / "bundle"))
        try:
            (copy / name).write_bytes(content)
            if forged:
                facts = manifest.verify(original).data
                (copy / manifest.FILE_NAME).unlink()
                manifest.write(copy, {k: facts[k] for k in facts if k != "files"})
            if _apart.get():
                reader.require(copy)
            bundle_data = data.read(copy)
            bundle_data.samples.collect()
            then(bundle_data)
            return True
        finally:
            shutil.rmtree(copy)

    return check
