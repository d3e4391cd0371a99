"""Looks for the Debian packages that a card needs, before anything is built."""

from __future__ import annotations

import subprocess
from pathlib import Path


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
