"""OSU Micro-Benchmarks: the well-known baseline, in addition to our programs.

The programs are those of the authors, versions 5.x to 7.x, installed by Spack or the site.
"""

import pathlib
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

from ..mixins.amounts import TIME_LIMIT_S, amount
from ..mixins.placement import Placement, Scale
from ..mixins.record import Figures, Recorded
from ..mixins.witness import Witnessed
from ..test_selection import simple_test
from .suite import find_osu


class OSUBase(Placement, Figures, Witnessed, Recorded, rfm.RunOnlyRegressionTest):
    """One benchmark over all sizes.  Derived classes set `benchmark`, and `num_tasks` in the body.

    If the version can, a short run before the measured one validates all received data.
    """

    study = "osu"
    valid_prog_environs = ["+mpi +osu"]
    needs = ["osu"]
    sourcesdir = None
    suite = fixture(find_osu, scope="environment")

    #: Largest message, bytes; 0: the program's default (4 MiB; 1 MiB for collectives).
    end = variable(amount(int, 0, 2**31 - 1), value=0, loggable=True)
    #: Messages or operations for each size; 0: the program's default, fewer for large sizes, or 20
    #: for every size in a simulation, where all take the same time.
    iterations = variable(amount(int, 0, 10**9), value=0, loggable=True)
    #: Time limit of a launch, s.
    limit = variable(TIME_LIMIT_S, value=900, loggable=True)
    #: How to make a missing feature available, unless the site says it.
    remedies = variable(typ.Dict[str, str], value={"osu": "spack install osu-micro-benchmarks"})

    @run_after("init")
    def keep_output(self):
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
        kind, text = osu.BENCHMARKS[self.benchmark], self.suite.help_of(self.benchmark)
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
        """A fault in an output fails the launch; the message names file and line."""
        stage = pathlib.Path(self.stagedir)
        # A program without -m ignores `end`; its curve is then longer.
        expected = self.benchmark, osu.BENCHMARKS[self.benchmark].last_size(self.end)
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
            simulated=self.simulated_by,
            **self.rank_entries(),
        )

    @sanity_function
    def reached_the_end(self):
        return self.ranks_are_complete()


@simple_test
class OSU(OSUBase):
    """One benchmark between two ranks."""

    descr = "OSU Micro-Benchmarks between two ranks: two-sided and one-sided"
    num_tasks = 2

    #: The program, without its prefix osu_.
    benchmark = parameter(osu.TWO_RANK_BENCHMARKS, type=str, loggable=True)


@simple_test
class OSUGroup(OSUBase):
    """One benchmark among many ranks: pairs at once, or a collective."""

    descr = "OSU Micro-Benchmarks among many ranks: pairs at once, collectives"

    #: The program, without its prefix osu_.
    benchmark = parameter(osu.MANY_RANK_BENCHMARKS, type=str, loggable=True)
    #: Number of ranks n; ranks i and i + n/2 form a pair.
    ranks = parameter([2, 4, 8, 16], type=int, loggable=True)

    @run_after("init")
    def place_ranks(self):
        self.num_tasks = self.ranks
        self.num_tasks_per_node = self.ranks if self.placement == "shared-memory" else 1
        self.need(
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
    def place_ranks(self):
        self.need_the_scale()

    def legal_rank_count(self, nodes, max_ranks):
        return max_ranks - max_ranks % 2 if nodes == 1 else max_ranks
