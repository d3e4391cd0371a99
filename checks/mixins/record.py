"""The records of a launch, the conditions under which it counts, and its performance variables."""

import functools
import json
import pathlib
import re
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import ReframeError, SanityError, SkipTestError

from roundtrip.errors import UserError
from roundtrip.measure import identity
from roundtrip.sites import programs
from roundtrip.sites.toolchains import spec
from roundtrip.study import get_study

from .placement import OnPairs
from .simulation import Simulation
from .wan import LeasedLink

_toolchain_catalogue = functools.cache(spec.read_catalogue)
CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
#: Variables and commands by which a site itself replaces the libraries that a program links.
_LIBRARY_REPLACEMENT_PATTERN = re.compile(
    r"LD_LIBRARY_PATH|LD_PRELOAD|\b(module|ml|source|spack)\s|^\s*\.\s"
)


class Recorded(OnPairs, LeasedLink, Simulation):
    """Keeps samples.csv, run.json and case.json of a launch; fails it without the end marker.

    The check sets `study` and `num_tasks`, and has the mixin Placement.  The emulation on
    a partition is in its extras (``emulated``, a mapping).  A launch has exclusive nodes.
    """

    #: The emulation by this check itself.
    emulation = {}

    #: The study this check belongs to: a folder of checks/ and a section of the report.
    study = variable(str, loggable=True)

    #: Build the check's programs without a launch: ``reframe -c checks -R -S build_only=yes -r``.
    build_only = variable(bool, value=False)

    #: Why the test skips itself: ReFrame's report has variables, and no reason of a skip.
    skip_reason = variable(str, value="", loggable=True)

    #: The variables that a campaign may set: those that neither ReFrame nor a mixin declares.
    settable = variable(typ.List[str], value=[])

    def skip(self, msg=None):
        self.skip_reason = msg or ""
        raise SkipTestError(msg)

    @run_after("init")
    def list_settable_variables(self):
        mixins = [
            base for base in type(self).__mro__ if base.__module__.startswith(f"{__package__}.")
        ]
        exclusions = (name for base in (rfm.RegressionTest, *mixins) for name in base.var_space)
        self.settable = sorted(set(type(self).var_space).difference(exclusions))

    @run_after("init")
    def set_kept_files(self):
        self.exclusive_access = True
        self.keep_files = ["samples.csv", "run.json", "case.json"]
        self.executable_opts += ["--samples", "samples.csv"]

    @run_before("run")
    def skip_after_build(self):
        self.skip_if(self.build_only, "it was built and not launched, as build_only says")

    @run_before("run", always_last=True)
    def write_case(self):
        part, environ = self.current_partition, self.current_environ
        parameters = {name: getattr(self, name) for name in type(self).param_space.params}
        parameters.pop("pair", None)  # redundant: `hosts` has it
        parameters |= self.pair_facts
        case = {
            "schema": 1,
            "study": self.study,
            "check": type(self).__name__.split("%")[0].split("_")[0],
            "display_name": self.display_name,
            "hash": self.hashcode,
            "parameters": {key: value for key, value in parameters.items() if value is not None},
            "system": self.current_system.name,
            "partition": part.name,
            "environ": environ.name,
            "features": [*part.features, *environ.features],
            "extras": {**part.extras, **environ.extras},
            "num_tasks": self.num_tasks,
            "num_nodes": self.num_hosts,
            "mpi": self.declared_mpi,
            "links": self.linked_mpi,
            "libraries": self.linked_mpi and self.linked_libraries,
            "arguments": shlex.split(" ".join(self.executable_opts)),
            "tuning": self.tuning,
            "program": self.program_identity,
            "scheduler": self.launch_scheduler.key or part.scheduler.registered_name,
            "emulated": {**part.extras.get("emulated", {}), **self.emulation} or None,
            "simulated": self.simulated,
        }
        if self.pair_hosts:
            case["hosts"] = self.pair_hosts
        (pathlib.Path(self.stagedir) / "case.json").write_text(json.dumps(case, indent=1))

    @property
    def measured_program(self):
        """The file of the program that is measured; None if no fixture has built it."""
        return self.build.program if hasattr(self, "build") else None

    @property
    def program_identity(self):
        """`file` and `sha256` of the measured program at submission; None if it is unknown.

        Third-party programs do not record them themselves.
        """
        file = self.measured_program
        return file and {"file": file, "sha256": programs.cached_sha256(pathlib.Path(file))}

    @property
    def declared_mpi(self):
        """`family` and `version` of the toolchain's MPI, and how its version text begins (`says`).

        None if the environment declares no version; ReframeError if nothing tells how to check it.
        """
        extras = self.current_environ.extras
        if not (version := extras.get("mpi_version")):
            return None
        name, families = extras.get("mpi"), _toolchain_catalogue(CHECKOUT).families
        if name not in families:
            file, legal = "site-configs/toolchains.toml", ", ".join(families)
            why = f"no [family.{name}] tells how {version} is checked; there are: {legal}"
            raise ReframeError(f"{file}: {why}")
        return {"family": name, "version": version, "says": families[name].answers}

    @property
    def linked_mpi(self):
        """The file of the MPI library that the program links; None if it is unknown, e.g. on a site
        that sets the loader's path itself."""
        part, environ = self.current_partition, self.current_environ
        environments = (part.local_env, environ)
        shell_lines_and_names = [
            *self.site_script.splitlines(),
            *(command for environment in (part, environ) for command in environment.prepare_cmds),
            *(name for environment in environments for name in environment.env_vars),
        ]
        modules = [name for environment in environments for name in environment.modules]
        has_own_libraries = modules or any(
            map(_LIBRARY_REPLACEMENT_PATTERN.search, shell_lines_and_names)
        )
        if self.simulated or has_own_libraries or not self.measured_program:
            return None
        library = programs.find_linked_mpi(pathlib.Path(self.measured_program))
        return library and str(library)

    @property
    def linked_libraries(self):
        """The file of each shared library that the program links, by name."""
        libraries = programs.linked_libraries(pathlib.Path(self.measured_program))
        return {name: str(file) for name, file in libraries.items()}

    @property
    def tuning(self):
        """The user's MPI settings in this launch, which neither site nor toolchain sets."""
        part, environ = self.current_partition, self.current_environ
        environments = (self.current_system.preload_environ, part.local_env, environ)
        variables = {name for environment in environments for name in environment.env_vars}
        variables |= programs.assigned_variables(self.site_script)
        return {} if self.simulated else programs.mpi_tuning_settings(variables)

    @property
    def site_script(self):
        """The text of the site's file ``environment``; "" without one."""
        file = CHECKOUT / "site-configs" / self.current_system.name / "environment"
        return file.read_text(errors="replace") if file.is_file() else ""

    @run_before("run")
    def set_allocation_commands(self):
        if self.launch_scheduler.allocates_nodes and not self.simulated:
            print_own, print_others = self.launch_scheduler.allocation_commands()
            allocation = f"{print_own} > {identity.ALLOCATION_FILE}"
            other_jobs = f"{print_others} >> {identity.ALLOCATION_FILE}"
            self.prerun_cmds = [allocation, other_jobs, *self.prerun_cmds]
            # The exit status of the job stays that of the launch.
            self.postrun_cmds = [*self.postrun_cmds, f"status=$?; {other_jobs}; (exit $status)"]
            self.keep_files = [*self.keep_files, identity.ALLOCATION_FILE]

    @run_before("sanity", always_last=True)
    def assert_identity(self):
        """Fail a launch whose ranks, nodes, MPI or program are not those declared.

        Without run.json it does nothing: then the sanity function fails the launch.
        """
        folder = pathlib.Path(self.stagedir)
        if not (folder / "run.json").is_file():
            return
        from roundtrip.measure import launch  # listing checks must not load this

        try:
            fault = launch.folder_mismatch_reason(folder) or self.other_job_fault(folder)
        except UserError as error:
            raise SanityError(str(error).replace(f"{folder}/", "")) from None
        if fault:
            raise SanityError(fault)

    def other_job_fault(self, folder):
        """Return the fault that the launch ran in another job than ReFrame submitted; else ""."""
        if self.simulated or self.launches_are_steps or not self.launch_scheduler.allocates_nodes:
            return ""
        allocation = identity.read_allocation(self.launch_scheduler, folder)
        return identity.job_mismatch(allocation, self.job.jobid)

    @sanity_function
    def assert_launch_complete(self):
        marker = r"^ROUNDTRIP COMPLETE ranks=(?P<ranks>\d+) hosts=(?P<hosts>\d+)$"
        ranks = sn.extractsingle(marker, self.stdout, "ranks", int)
        hosts = sn.extractsingle(marker, self.stdout, "hosts", int)
        return sn.all(
            [
                sn.assert_found(marker, self.stdout, msg="no end marker: it died or was killed"),
                sn.assert_eq(ranks, self.num_tasks, msg="ran with {0} ranks instead of {1}"),
                sn.assert_eq(hosts, self.num_hosts, msg="ran on {0} hosts instead of {1}"),
            ]
        )


class PerfVariables(rfm.RegressionTestPlugin):
    """Sets ReFrame's performance variables: what the check's `study` makes of samples.csv."""

    @run_before("performance")
    def set_perf_variables(self):
        # Imported here: listing checks must not load the reader of samples.
        from roundtrip.measure import samples
        from roundtrip.studies import derivation

        rows = samples.read_rows(f"{self.stagedir}/samples.csv")
        variables = derivation.perf_variables(get_study(self.study), rows)
        self.perf_variables = {
            name: sn.make_performance_function(lambda value=value: value, unit)
            for name, (value, unit) in variables.items()
        }
