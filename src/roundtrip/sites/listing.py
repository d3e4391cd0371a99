"""The test cases of a site: a program that prints what ReFrame's own loader finds, as JSON.

``python -m roundtrip.sites.listing CHECK_FILE ...`` runs in the environment of a site, as
``site-configs/activate`` sets it.  ReFrame has no other list of concrete cases for a program:
``--describe`` leaves out where a test can run, and ``-lC`` is for people.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reframe.core import config, runtime
from reframe.frontend.executors import generate_testcases
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import import_module_from_file


def cases(files: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The test cases of check `files`, without fixtures: what `campaign.site.Case` has of each.

    ImportError names a file that does not load, and why.
    """
    site = config.load_config(*os.environ["RFM_CONFIG_FILES"].split(":"))
    site.validate()
    site.select_subconfig(os.environ["RFM_SYSTEM"], ignore_resolve_errors=True)
    runtime.init_runtime(site)
    loader = RegressionCheckLoader(files)
    for file in files:
        try:
            module = import_module_from_file(
                str(Path(file).resolve()), force=True, load_parents=True
            )
        except Exception as error:
            raise ImportError(f"{file}: a check does not load: {error}") from error
        for case in generate_testcases(loader.load_from_module(module)):
            if not case.check.is_fixture():
                check, *parameters = case.check.display_name.split(" %")
                yield {
                    "check": check,
                    "parameters": sorted(item.split("=", 1) for item in parameters),
                    "hash": case.check.hashcode,
                    "system": runtime.runtime().system.name,
                    "partition": case.partition.name,
                    "environ": case.environ.name,
                }


def main() -> None:
    """Print the cases in one line, the last; a file at fault and why, with status 1."""
    try:
        found = list(cases(sys.argv[1:]))
    except Exception as error:
        sys.exit(str(error))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
