"""What a partition's nodes are, and two ranks of a toolchain, each of which says what it sees.

ReFrame checks outside ``checks/``, for ``roundtrip site check --live``.

``ROUNDTRIP_STARTS`` says how they start, in JSON: a list of ``[launcher, option...]``; an empty
one means as the site says.
"""

import json
import os
import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, parameter, run_before, sanity_function

STARTS = [tuple(one) for one in json.loads(os.environ.get("ROUNDTRIP_STARTS", "[[]]"))]
#: Lets each MPI tell which transport it takes.
TELL = {
    "UCX_LOG_LEVEL": "info",
    "OMPI_MCA_pml_base_verbose": "10",
    "OMPI_MCA_bml_base_verbose": "10",
    "OMPI_MCA_btl_base_verbose": "10",
    "FI_LOG_LEVEL": "warn",
    "MPIR_CVAR_DEBUG_SUMMARY": "1",
}


#: A line of JSON a node.
SURVEY = (
    'printf \'\\nROUNDTRIP NODE {"host": "%s", "interfaces": "%s"}\\n\' '
    '"$(uname -n)" "$(cd /sys/class/net && echo *)"'
)


@rfm.simple_test
class Nodes(rfm.RunOnlyRegressionTest):
    """Two nodes of the partition, asked without any MPI."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    num_tasks = 2
    time_limit = "2m"
    executable = "sh"

    @run_before("run")
    def ask(self):
        self.num_tasks_per_node = 1 if self.current_partition.extras.get("nodes", 1) > 1 else 2
        self.executable_opts = ["-c", shlex.quote(SURVEY)]

    @sanity_function
    def spoke(self):
        return sn.assert_found("ROUNDTRIP NODE", self.stdout)


class build_rank(rfm.CompileOnlyRegressionTest):
    """rank.cpp, with the compiler of the toolchain."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    build_system = "SingleSource"
    sourcesdir = str(pathlib.Path(__file__).parent)
    sourcepath = "rank.cpp"
    build_locally = True

    @run_before("compile")
    def standard(self):
        self.build_system.cxxflags = ["-std=c++20", "-O1"]
        self.build_system.ldflags = ["-ldl"]
        self.executable = "./rank"

    @sanity_function
    def built(self):
        return sn.path_exists(f"{self.stagedir}/rank")


@rfm.simple_test
class Start(rfm.RunOnlyRegressionTest):
    """On two nodes where the partition has them, else two ranks in one."""

    valid_systems = ["*"]
    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    num_tasks = 2
    time_limit = "2m"
    start = parameter(STARTS, fmt=lambda how: "-".join(how) or "site")
    binary = fixture(build_rank, scope="environment")

    @run_before("run")
    def launch(self):
        extras = self.current_environ.extras
        self.num_tasks_per_node = 1 if self.current_partition.extras.get("nodes", 1) > 1 else 2
        self.executable = str(pathlib.Path(self.binary.stagedir) / "rank")
        programs = pathlib.Path(self.current_environ.cxx).parent  # the MPI's own launcher first
        self.env_vars = {**TELL, "PATH": f"{programs}:$PATH"}
        launcher = self.start[0] if self.start else extras.get("launcher")
        if launcher:
            self.job.launcher = getlauncher(launcher)()
        options = self.start[1:] if self.start else extras.get("launcher_options", [])
        self.job.launcher.options += options

    @sanity_function
    def spoke(self):
        return sn.assert_found("ROUNDTRIP SEES", self.stdout)
