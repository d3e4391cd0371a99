"""The readers of what upstream programs print."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from fuzz.mutate import written
from roundtrip.measure import samples
from roundtrip.studies.netpipe import output as netpipe_output
from roundtrip.studies.npb import derived as npb_derived
from roundtrip.studies.osu import output as osu_output


def netpipe(content: bytes, seed: bytes, folder: Path) -> bool:
    file = written(content, folder / "np.out")
    points = netpipe_output.convert(file, "NPmpi", 2, hosts=[])
    assert [point.size_bytes for point in points] == [
        size for size, _ in zip(netpipe_output.SizeSchedule().sizes(), points, strict=False)
    ], "a line is missing"
    samples.read_rows(folder / "samples.csv")
    return True


def npb(content: bytes, seed: bytes, folder: Path) -> bool:
    npb_derived.convert_output(written(content, folder / "rfm_job.out"), "cg.A.x", hosts=[])
    samples.read_rows(folder / "samples.csv")
    return True


def osu(name: str) -> Callable[[bytes, bytes, Path], bool]:
    def check(content: bytes, seed: bytes, folder: Path) -> bool:
        output = osu_output.parse_output(written(content, folder / "osu.txt"), name)
        sizes = [row.size_bytes for row in output.rows]
        assert all(after == max(1, 2 * before) for before, after in pairwise(sizes))
        return True

    return check
