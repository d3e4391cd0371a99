"""`testbed/card`: runs the Spack workflow of the README once, on the virtual cluster."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from pipeline import Card, StepError, Steps, render_step_table, run_card

CHECKOUT = Path(__file__).resolve().parents[2]
NO_SPACK = """card: no Spack: set SPACK_ROOT to one of version 1.1 or newer
  git clone --depth=2 -b v1.1.0 https://github.com/spack/spack.git ~/spack
  export SPACK_ROOT=~/spack
  without internet: docs/cluster.md"""


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line; folders in the options are absolute."""
    parser = argparse.ArgumentParser(
        prog="testbed/card",
        description="Install by Spack, launch by Slurm on the virtual cluster, and report.",
        epilog="Exit status: 0 all steps; 1 one of them failed; 2 Spack or a package is missing.",
    )
    parser.add_argument("--slice", metavar="MPI,BOOST", help="one toolchain: openmpi@4.1.4,1.81.0")
    parser.add_argument(
        "--cache", type=Path, default=_default_cache(), help="build cache [%(default)s]"
    )
    parser.add_argument("--site", default="virtual-spack", help="[%(default)s]")
    parser.add_argument("--campaign", default="card", help="of the night [%(default)s]")
    parser.add_argument("--name", default="card", help="of the virtual cluster [%(default)s]")
    parser.add_argument("--nodes", default="2+2", help="of the virtual cluster [%(default)s]")
    parser.add_argument("--cpu-weight", help="of the virtual cluster, on a busy machine: 10000")
    parser.add_argument("--second", action="store_true", help="also restore to a second prefix")
    parser.add_argument("--prefix", type=Path, help="install here, and only from the build cache")
    options = parser.parse_args(arguments)
    # commands run in the checkout, and Spack gets the cache as a URL
    options.cache = options.cache.resolve()
    options.prefix = options.prefix and options.prefix.resolve()
    return options


def _default_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "roundtrip" / "card"


def missing_packages(checkout: Path, site: str) -> list[str]:
    """Packages of the site's Spack part and of the virtual cluster that are not installed.

    Empty without dpkg: then Spack and the cluster report what is missing.
    """
    folders = [checkout / "site-configs" / site, checkout / "testbed"]
    names = [
        name
        for folder in folders
        if (file := folder / "apt-packages.txt").is_file()
        for line in file.read_text().splitlines()
        if (name := line.split("#", 1)[0].strip()) and not name.startswith("[")
    ]
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *names]
    try:
        lines = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    except FileNotFoundError:
        return []
    installed_names = {line.split()[1] for line in lines if line.startswith("installed ")}
    return sorted(set(names) - installed_names)


def main() -> int:
    options = parse_arguments()
    spack = Path(os.environ.get("SPACK_ROOT") or "/nonexistent") / "bin" / "spack"
    if not spack.is_file():
        print(NO_SPACK, file=sys.stderr)
        return 2
    if names := missing_packages(CHECKOUT, options.site):
        message = f"card: not installed: {' '.join(names)}\n  apt-get install {' '.join(names)}"
        print(message, file=sys.stderr)
        return 2
    steps = Steps()
    try:
        run_card(Card(CHECKOUT, spack, options), steps)
    except StepError as error:
        print(f"card: {error}", file=sys.stderr)
        return 1
    finally:
        print(render_step_table(steps.timed_steps))
    return 0


if __name__ == "__main__":
    sys.exit(main())
