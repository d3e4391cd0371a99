"""Builds a workload once for each toolchain, in a folder that outlives the session."""

import json
import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable

from roundtrip.sites import programs
from roundtrip.sites.launching import SIMULATED_FEATURE

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


class ProgramList(rfm.RegressionTestPlugin):
    """Keeps a JSON list of the programs that a fixture has built or found (`program_paths`).

    A campaign compares their digests from round to round.
    """

    @run_before("sanity")
    def write_program_list(self):
        (pathlib.Path(self.stagedir) / programs.PROGRAMS_FILE).write_text(
            json.dumps(self.program_paths)
        )
        self.keep_files = [*self.keep_files, programs.PROGRAMS_FILE]


class build_workload(ProgramList, rfm.CompileOnlyRegressionTest):
    """Builds one program of ``workloads/`` by CMake, with the environment's MPI and Boost.

    A study derives a class of its own that names the program.

    A campaign has many ReFrame sessions: the build folder is kept, so that in all sessions except
    the first Ninja only looks for changes.  It must be on a file system that the nodes share.
    Environments with the same ``build`` in their extras share one: same compiler, same processor.
    An environment with a folder of ``programs`` in its extras (built by Spack) needs no build.
    """

    #: The program to build: a folder of workloads/ and the CMake target of the same name.
    workload = variable(str)
    valid_systems = ["*"]
    valid_prog_environs = ["+mpi +boost"]
    build_system = "CMake"
    sourcesdir = None
    build_locally = True

    @run_before("compile")
    def configure(self):
        partition, environ = self.current_partition, self.current_environ
        self.installed_folder = environ.extras.get("programs")
        if self.installed_folder:
            self.build_system = "CustomBuild"
            self.build_system.commands = [f"test -x {shlex.quote(self.program)}"]
            return
        default = f"{partition.fullname.replace(':', '-')}-{environ.name}"
        self.build_folder = CHECKOUT / "build" / environ.extras.get("build", default)
        # Two sessions may build at once: the lock ends with the script of the build job.
        self.prebuild_cmds = [
            f"mkdir -p {shlex.quote(str(self.build_folder))}",
            f"exec 9> {shlex.quote(str(self.build_folder / '.lock'))}",
            "flock 9",
        ]
        # CMake refuses to change the compiler of a folder, as when the toolchains have moved.
        cache = self.build_folder / "CMakeCache.txt"
        absolute = environ.cxx.startswith("/")
        if absolute and cache.exists() and f"={environ.cxx}\n" not in cache.read_text():
            self.prebuild_cmds.append(f"rm {shlex.quote(str(cache))}")
        self.build_system.configuredir = shlex.quote(str(CHECKOUT / "workloads"))
        self.build_system.builddir = shlex.quote(str(self.build_folder))
        self.build_system.config_opts = ["-G Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        if "boost" not in environ.features:
            self.build_system.config_opts.append("-DROUNDTRIP_BOOST=OFF")
        if SIMULATED_FEATURE in environ.features:
            # Native instructions of some processors round differently and change iterations.
            self.build_system.config_opts.append("-DROUNDTRIP_NATIVE=OFF")
        self.build_system.build_opts = [self.workload]
        self.build_system.max_concurrency = 2

    @sanity_function
    def assert_program_exists(self):
        return sn.assert_true(
            sn.path_isfile(self.program), msg=f"there is no program {self.program}"
        )

    @property
    def program_paths(self):
        return [self.program]

    @property
    def program(self):
        """Absolute path of the built program."""
        return self.program_path(self.workload)

    def program_path(self, name):
        """Absolute path of a program of this workload."""
        if self.installed_folder:
            return str(pathlib.Path(self.installed_folder) / name)
        return str(self.build_folder / self.workload / name)
