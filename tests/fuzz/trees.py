"""Whole run trees, mutated: nothing raises, what was not touched is kept, what was is not."""

import os
import shutil
from pathlib import Path
from random import Random

from fuzz.bundles import tree
from fuzz.mutate import mutated
from roundtrip import files
from roundtrip.content.data import read_bundle
from roundtrip.errors import UserError
from roundtrip.measure import bundle
from roundtrip.measure.launches import scan_launches
from roundtrip.report.build import build_report


def check(random: Random, folder: Path) -> bool:
    """Mutate a copy of a run tree and collect it; whether a bundle came out."""
    original = tree().path
    run = folder / "run"
    shutil.copytree(original, run, ignore=lambda *_: {"bundles"})
    try:
        launches = sorted(file.parent for file in run.rglob("case.json"))
        touched_paths = {_touch(random, run) for _ in range(random.choice((1, 1, 2)))}
        return _collected(run, launches, touched_paths, random)
    finally:
        shutil.rmtree(run)


def _collected(run: Path, launches: list[Path], touched_paths: set[Path], random: Random) -> bool:
    digests = {
        files.sha256((tree().path / launch.relative_to(run) / "samples.csv").read_bytes())
        for launch in launches
    }
    run_launches = scan_launches(run)
    passed_folders = {launch.folder for launch in run_launches if launch.status == "passed"}
    for launch in run_launches:
        assert launch.status != "passed" or launch.samples_sha256 in digests, "a bad row was kept"
    for folder in launches:
        paths_not_above = [path for path in touched_paths if path not in (folder, *folder.parents)]
        paths_outside = [path for path in paths_not_above if folder not in path.parents]
        is_unharmed = len(paths_outside) == len(touched_paths) and all(
            path.name != "report.json" for path in touched_paths
        )
        assert not is_unharmed or folder in passed_folders, "a good launch was lost"
    try:
        bundle_path = bundle.build_bundle(run)
    except UserError as error:
        assert "\n" not in str(error)
        return False
    if random.random() < 0.02:
        build_report(read_bundle(bundle_path))
    return True


def _touch(random: Random, run: Path) -> Path:
    """Change something below the tree: a file's content, or what kind of thing it is."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and not path.is_symlink())
    file = random.choice(files)
    kind = random.randrange(12)
    if kind < 8:
        content = mutated(random, file.read_bytes())
        file.unlink()
        file.write_bytes(content)
        return file
    path = random.choice([file, file.parent]) if file.parent != run else file
    backup = run.parent / f"kept-{random.random()}"
    path.rename(backup)
    if kind == 8:
        path.symlink_to(backup)
    elif kind == 9:
        os.mkfifo(path)
    elif kind == 10:
        path.mkdir()
    return path
