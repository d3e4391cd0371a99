"""Finds the programs of OSU Micro-Benchmarks, and asks each what it can do."""

import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function

from roundtrip.studies.osu.derived import BENCHMARKS


class find_osu(rfm.CompileOnlyRegressionTest):
    """Searches the prefix that the environment's extras name (``osu_prefix``).

    Folders differ by version, and so do options: ``<benchmark>.help`` in the stage folder is what
    each program offers.
    """

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi +osu"]
    build_system = "CustomBuild"
    sourcesdir = None
    build_locally = True

    @run_before("compile")
    def ask_each(self):
        prefix = pathlib.Path(self.current_environ.extras["osu_prefix"])
        found = {path.name: path for path in sorted(prefix.rglob("osu_*")) if path.is_file()}
        self.programs = {
            name: str(found[f"osu_{name}"]) for name in BENCHMARKS if f"osu_{name}" in found
        }
        # Some versions end their help with status 1, and some print it on standard error.
        self.build_system.commands = [
            f"timeout 30 {shlex.quote(program)} -h > {name}.help 2>&1 || true"
            for name, program in self.programs.items()
        ]

    @sanity_function
    def found_some(self):
        prefix = self.current_environ.extras["osu_prefix"]
        return sn.assert_true(self.programs, msg=f"there is no OSU benchmark below {prefix}")

    def help_of(self, name):
        """The help text of ``osu_<name>``; empty in a dry run, which asks no program."""
        if self.is_dry_run():
            return ""
        return (pathlib.Path(self.stagedir) / f"{name}.help").read_text(errors="replace")
