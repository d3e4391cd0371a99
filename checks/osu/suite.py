"""Finds the programs of OSU Micro-Benchmarks and reads the help of each."""

import pathlib
import re
import shlex

import reframe as rfm
from reframe.core.builtins import run_before, sanity_function
from reframe.core.exceptions import SanityError

from roundtrip.studies.osu.derived import BENCHMARKS

from ..mixins.build import Listed
from ..mixins.placement import environment_launcher, step_scheduler
from ..mixins.simulation import OnSimulatedHosts

#: The line about ``-h`` in the help of every version.
_HELP_LINE = re.compile(r"^\s*-h\b", re.MULTILINE)


class find_osu(OnSimulatedHosts, Listed, rfm.CompileOnlyRegressionTest):
    """Searches the prefix in the environment's extras (``osu_prefix``).

    Folders and options differ by version: ``<benchmark>.help`` in the stage folder has the options
    of each program.  A launch of one rank prints it, where launches run: a program built for
    SimGrid starts under smpirun only, one whose MPI was built for Slurm's PMI under srun.
    """

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi +osu"]
    build_system = "CustomBuild"
    sourcesdir = None
    build_locally = False

    @run_before("compile")
    def ask_programs(self):
        prefix = pathlib.Path(self.current_environ.extras["osu_prefix"])
        paths = {path.name: path for path in sorted(prefix.rglob("osu_*")) if path.is_file()}
        self.programs = {
            name: str(paths[f"osu_{name}"]) for name in BENCHMARKS if f"osu_{name}" in paths
        }
        start = self.one_rank_command()
        # Some versions end their help with status 1, and some print it on standard error.
        self.build_system.commands = [
            f"timeout 60 {start} {shlex.quote(program)} -h > {name}.help 2>&1 || true"
            for name, program in self.programs.items()
        ]

    @property
    def program_paths(self):
        return sorted(self.programs.values())

    def one_rank_command(self):
        """Return the command that starts one rank; for a simulation, write its platform first."""
        if self.simulated:
            self.lay_out(1)
        extras = self.current_environ.extras
        job_launcher = environment_launcher(self.build_job, extras)
        node_option = step_scheduler(job_launcher).count_options(1)
        job_launcher.options = [
            *job_launcher.options,
            *extras.get("launcher_options", []),
            *node_option,
        ]
        return job_launcher.run_command(self.build_job)

    @sanity_function
    def helps_are_complete(self):
        prefix = self.current_environ.extras["osu_prefix"]
        if not self.programs:
            raise SanityError(f"there is no OSU benchmark below {prefix}")
        for name in self.programs:
            text = self.help_of(name)
            if not _HELP_LINE.search(text):
                first_line = (text.strip().splitlines() or ["nothing"])[0]
                raise SanityError(f"osu_{name} -h prints no options, but: {first_line}")
        return True

    def help_of(self, name):
        """Return the help text of ``osu_<name>``; empty in a dry run, which runs no program."""
        if self.is_dry_run():
            return ""
        return (pathlib.Path(self.stagedir) / f"{name}.help").read_text(errors="replace")
