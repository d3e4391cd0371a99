"""Two nodes of a partition and two ranks of a toolchain, each of which prints what it finds there.

ReFrame checks outside ``checks/``, for ``roundtrip site check --live``.

``ROUNDTRIP_STARTS`` has the ways to start the ranks, in JSON: a list of ``[launcher, option...]``;
an empty one stands for the launcher of the site.
"""

import json
import os
import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, parameter, run_before, sanity_function

LAUNCHERS = [tuple(command) for command in json.loads(os.environ.get("ROUNDTRIP_STARTS", "[[]]"))]
#: Variables with which each MPI logs the transport that it uses.
TRANSPORT_LOG_VARIABLES = {
    "UCX_LOG_LEVEL": "info",
    "OMPI_MCA_pml_base_verbose": "10",
    "OMPI_MCA_bml_base_verbose": "10",
    "OMPI_MCA_btl_base_verbose": "10",
    "FI_LOG_LEVEL": "warn",
    "MPIR_CVAR_DEBUG_SUMMARY": "1",
}


#: Prints a line of JSON with the name and the network interfaces of the node.
NODE_LINE_SCRIPT = (
    'printf \'\\nROUNDTRIP NODE {"host": "%s", "interfaces": "%s"}\\n\' '
    '"$(uname -n)" "$(cd /sys/class/net && echo *)"'
)


@rfm.simple_test
class Nodes(rfm.RunOnlyRegressionTest):
    """Prints a line for each of two nodes of the partition, without any MPI."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    num_tasks = 2
    time_limit = "2m"
    executable = "sh"

    @run_before("run")
    def set_command(self):
        self.num_tasks_per_node = 1 if self.current_partition.extras.get("nodes", 1) > 1 else 2
        self.executable_opts = ["-c", shlex.quote(NODE_LINE_SCRIPT)]

    @sanity_function
    def assert_line_printed(self):
        return sn.assert_found("ROUNDTRIP NODE", self.stdout)


class build_rank(rfm.CompileOnlyRegressionTest):
    """Builds rank.cpp with the compiler of the toolchain."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    build_system = "SingleSource"
    sourcesdir = str(pathlib.Path(__file__).parent)
    sourcepath = "rank.cpp"
    build_locally = True

    @run_before("compile")
    def set_flags(self):
        self.build_system.cxxflags = ["-std=c++20", "-O1"]
        self.build_system.ldflags = ["-ldl"]
        self.executable = "./rank"

    @sanity_function
    def assert_built(self):
        return sn.path_exists(f"{self.stagedir}/rank")


@rfm.simple_test
class Start(rfm.RunOnlyRegressionTest):
    """Starts two ranks, on two nodes if the partition has so many, in each way of LAUNCHERS."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    num_tasks = 2
    time_limit = "2m"
    start = parameter(LAUNCHERS, fmt=lambda how: "-".join(how) or "site")
    binary = fixture(build_rank, scope="environment")

    @run_before("run")
    def set_command(self):
        extras = self.current_environ.extras
        self.num_tasks_per_node = 1 if self.current_partition.extras.get("nodes", 1) > 1 else 2
        self.executable = str(pathlib.Path(self.binary.stagedir) / "rank")
        programs = pathlib.Path(self.current_environ.cxx).parent  # the MPI's own launcher first
        self.env_vars = {**TRANSPORT_LOG_VARIABLES, "PATH": f"{programs}:$PATH"}
        launcher = self.start[0] if self.start else extras.get("launcher")
        if launcher:
            self.job.launcher = getlauncher(launcher)()
        options = self.start[1:] if self.start else extras.get("launcher_options", [])
        self.job.launcher.options += options

    @sanity_function
    def assert_line_printed(self):
        return sn.assert_found("ROUNDTRIP SEES", self.stdout)
