"""Run trees whose launches say that SimGrid simulated them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from roundtrip.measure import samples

BY = {"simgrid": "3.32", "platform": "odin", "platform_sha256": "5e" * 32, "host_flops": 1e9}


def simulate(tree: Path, **changes: Any) -> None:
    """Make all launches of a case equal, as two runs of a simulation are, but for their heads.

    `changes` are of what run.json says of the simulator.
    """
    first_texts: dict[str, str] = {}
    for number, file in enumerate(sorted(tree.rglob("case.json"))):
        folder, case = file.parent, json.loads(file.read_text())
        file.write_text(json.dumps({**case, "simulated": True}))
        text = (folder / "samples.csv").read_text()
        first_text = first_texts.setdefault(case["environ"], text)
        rows = "".join(line for line in first_text.splitlines(True) if not line.startswith("#"))
        content = f"# schema: 1\n# launch: {number}\n{rows}".encode()
        (folder / "samples.csv").write_bytes(content)
        run = json.loads((folder / "run.json").read_text())
        frame = samples.parse(content, folder / "samples.csv").frame
        facts = {"simulated": {**BY, **changes}, "samples": samples.seal(content, frame)}
        (folder / "run.json").write_text(json.dumps({**run, **facts}))
