"""OSU Micro-Benchmarks: the well-known baseline, in addition to our programs.

The programs are those of the authors, versions 5.x to 7.x, installed by Spack or the site.
"""

import pathlib
import re
import shlex

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import (
    fixture,
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import SanityError

from roundtrip.errors import UserError
from roundtrip.sites import launching
from roundtrip.sites.launching import ALL_CORES, ONE_PER_NODE
from roundtrip.studies.osu import derived as osu
from roundtrip.studies.osu import output as osu_output

from ..mixins.build import ProgramList
from ..mixins.placement import Placement, Scale, environment_launcher, step_scheduler
from ..mixins.record import PerfVariables, Recorded
from ..mixins.simulation import OnSimulatedHosts
from ..mixins.variable_types import TIME_LIMIT_TYPE, number_type
from ..mixins.witness import Witnessed
from ..test_selection import simple_test

#: The line about ``-h`` in the help of every version.
_HELP_LINE_PATTERN = re.compile(r"^\s*-h\b", re.MULTILINE)


class find_osu(OnSimulatedHosts, ProgramList, rfm.CompileOnlyRegressionTest):
    """Finds the programs below the prefix in the environment's extras (``osu_prefix``).

    Folders and options differ by version, so each program prints its options into
    ``<benchmark>.help`` in the stage folder.  It runs as a launch of one rank on the partition: a
    program built for SimGrid starts under smpirun only, one whose MPI was built for Slurm's PMI
    under srun.
    """

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi +osu"]
    build_system = "CustomBuild"
    sourcesdir = None
    build_locally = False

    @run_before("compile")
    def set_help_commands(self):
        prefix = pathlib.Path(self.current_environ.extras["osu_prefix"])
        paths = {path.name: path for path in sorted(prefix.rglob("osu_*")) if path.is_file()}
        self.programs = {
            name: str(paths[f"osu_{name}"]) for name in osu.BENCHMARKS if f"osu_{name}" in paths
        }
        start = self.prepare_one_rank_command()
        # Some versions end their help with status 1, and some print it on standard error.
        self.build_system.commands = [
            f"timeout 60 {start} {shlex.quote(program)} -h > {name}.help 2>&1 || true"
            for name, program in self.programs.items()
        ]

    @property
    def program_paths(self):
        return sorted(self.programs.values())

    def prepare_one_rank_command(self):
        """Return the shell command that starts one rank; write the platform if it is simulated."""
        if self.simulated:
            self.write_platform(1)
        extras = self.current_environ.extras
        job_launcher = environment_launcher(self.build_job, extras)
        node_option = step_scheduler(job_launcher).node_count_options(1)
        job_launcher.options = [
            *job_launcher.options,
            *extras.get("launcher_options", []),
            *node_option,
        ]
        return job_launcher.run_command(self.build_job)

    @sanity_function
    def assert_help_complete(self):
        prefix = self.current_environ.extras["osu_prefix"]
        if not self.programs:
            raise SanityError(f"there is no OSU benchmark below {prefix}")
        for name in self.programs:
            text = self.help_text(name)
            if not _HELP_LINE_PATTERN.search(text):
                first_line = (text.strip().splitlines() or ["nothing"])[0]
                raise SanityError(f"osu_{name} -h prints no options, but: {first_line}")
        return True

    def help_text(self, name):
        """Return the help text of ``osu_<name>``; empty in a dry run, which runs no program."""
        if self.is_dry_run():
            return ""
        return (pathlib.Path(self.stagedir) / f"{name}.help").read_text(errors="replace")


class OSUBase(Placement, PerfVariables, Witnessed, Recorded, rfm.RunOnlyRegressionTest):
    """One benchmark over all sizes.  Derived classes set `benchmark`, and `num_tasks` in the body.

    If the version can, a short run before the measured one validates all received data.
    """

    study = "osu"
    valid_prog_environs = ["+mpi +osu"]
    needs = ["osu"]
    sourcesdir = None
    suite = fixture(find_osu, scope="environment")

    #: Largest message, bytes; 0: the program's default (4 MiB; 1 MiB for collectives).
    end = variable(number_type(int, 0, 2**31 - 1), value=0, loggable=True)
    #: Messages or operations for each size; 0: the program's default, fewer for large sizes, or 20
    #: for every size in a simulation, where all take the same time.
    iterations = variable(number_type(int, 0, 10**9), value=0, loggable=True)
    #: Time limit of a launch, s.
    limit = variable(TIME_LIMIT_TYPE, value=900, loggable=True)
    #: How to make a missing feature available, unless the site says it.
    remedies = variable(typ.Dict[str, str], value={"osu": "spack install osu-micro-benchmarks"})

    @run_after("init")
    def set_output_files(self):
        self.executable_opts = []
        self.keep_files = [
            *self.keep_files,
            osu_output.MEASUREMENT_FILE,
            osu_output.VALIDATION_FILE,
        ]
        self.time_limit = f"{self.limit}s"

    @property
    def measured_program(self):
        return self.suite.programs.get(self.benchmark)

    @run_before("run")
    def set_command(self):
        program = self.measured_program
        if program is None:
            prefix = self.current_environ.extras["osu_prefix"]
            raise SanityError(f"{prefix} has no program osu_{self.benchmark}: install it whole")
        kind, text = osu.BENCHMARKS[self.benchmark], self.suite.help_text(self.benchmark)
        self.executable = executable = shlex.quote(program)
        make_options = osu.short_run_options if self.simulated else osu.measurement_options
        options = make_options(kind, text, self.end, self.iterations)
        self.command = [program, *options]
        self.validation = osu.validation_options(kind, text, self.end, self.iterations)
        if self.validation:
            self.job.num_tasks = self.num_tasks  # ReFrame sets it only later
            self.job.num_tasks_per_node = self.num_tasks_per_node
            launch = self.job.launcher.run_command(self.job)
            self.prerun_cmds += [
                f"{launch} {executable} {' '.join(self.validation)} > {osu_output.VALIDATION_FILE}"
            ]
        self.wrap_executable()
        self.executable_opts += [*options, f"> {osu_output.MEASUREMENT_FILE}"]

    @run_before("sanity")
    def convert_output(self):
        """Write samples.csv and run.json; SanityError names file and line of a faulty output."""
        stage = pathlib.Path(self.stagedir)
        # A program without -m ignores `end`; its curve is then longer.
        expected = self.benchmark, osu.BENCHMARKS[self.benchmark].last_size_bytes(self.end)
        try:
            if self.validation:
                osu_output.parse_output(stage / osu_output.VALIDATION_FILE, *expected)
            output = osu_output.parse_output(stage / osu_output.MEASUREMENT_FILE, *expected)
        except UserError as error:
            raise SanityError(str(error).replace(f"{stage}/", "")) from None
        osu_output.convert_output(
            stage,
            output,
            validated=bool(self.validation),
            command=self.command,
            ranks=self.num_tasks,
            simulated=self.simulation_record,
            **self.rank_entries(),
        )

    @sanity_function
    def assert_launch_complete(self):
        return self.assert_ranks_complete()


@simple_test
class OSU(OSUBase):
    descr = "OSU Micro-Benchmarks between two ranks: two-sided and one-sided"
    num_tasks = 2

    #: The program, without its prefix osu_.
    benchmark = parameter(osu.TWO_RANK_BENCHMARKS, type=str, loggable=True)


@simple_test
class OSUGroup(OSUBase):
    descr = "OSU Micro-Benchmarks among many ranks: pairs at once, collectives"

    #: The program, without its prefix osu_.
    benchmark = parameter(osu.MANY_RANK_BENCHMARKS, type=str, loggable=True)
    #: Number of ranks n; ranks i and i + n/2 form a pair.
    ranks = parameter([2, 4, 8, 16], type=int, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.num_tasks = self.ranks
        self.num_tasks_per_node = self.ranks if self.placement == "shared-memory" else 1
        self.set_required_features(
            self.placement, *launching.features_for_ranks(self.ranks, self.num_tasks_per_node)
        )


@simple_test
class OSUAtScale(Scale, OSUBase):
    """One benchmark among the ranks of a scale; OSUGroup has fixed numbers of ranks."""

    descr = "OSU Micro-Benchmarks among all ranks that the partition has room for"

    #: The program, without its prefix osu_.
    benchmark = parameter(osu.MANY_RANK_BENCHMARKS, type=str, loggable=True)
    #: `all-cores`: a rank on every core of the nodes; `one-per-node`: one rank on each.
    placement = parameter([ALL_CORES, ONE_PER_NODE], type=str, loggable=True)
    node_multiple = 2  # pairs take an even number of ranks

    @run_after("init")
    def set_placement(self):
        self.set_scale_features()

    def legal_rank_count(self, nodes, max_ranks):
        return max_ranks - max_ranks % 2 if nodes == 1 else max_ranks
