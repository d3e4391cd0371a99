"""The NAS Parallel Benchmarks on many hosts that SimGrid simulates.

Matsuda, Kudoh and Ishikawa (CCGrid 2003) had 16 hosts in each of two clusters.  They do not give
the speed of these hosts, which determines the cost of a longer round trip, so it is swept here.
"""

import shlex
import sys

import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable

from roundtrip import paths
from roundtrip.sites import launching
from roundtrip.sites.launching import SIMULATED_FEATURE
from roundtrip.studies import npb

from ..mixins.variable_types import number_type
from ..test_selection import simple_test
from .npb import NATIVE_ENVIRONS, NPBBase, NPBLaunch

_SIMULATOR_ENVIRONS = f"{NATIVE_ENVIRONS} +{SIMULATED_FEATURE}"


@simple_test
class NPBSimulated(NPBBase):
    """One benchmark with each rank on a simulated host, of the speed in the partition's extras."""

    descr = "NAS Parallel Benchmarks on many simulated hosts"

    # Each value here is one more test that ReFrame may instantiate in a session and not run.
    problem_class = parameter(["S", "A"], type=str, loggable=True)
    #: Number of ranks.
    ranks = parameter([16, 64, 128, 256], type=int, loggable=True)
    source = parameter([npb.NATIVE], type=str, loggable=True)
    #: `one-per-node`: each rank on a host.
    placement = parameter(["one-per-node"], type=str, loggable=True)

    @run_after("init")
    def set_placement(self):
        self.set_ranks(self.ranks)
        self.num_tasks_per_node = 1
        self.set_required_features(self.placement, *launching.features_for_ranks(self.ranks, 1))

    @run_after("init", always_last=True)
    def set_simulator_features(self):
        self.valid_prog_environs = [_SIMULATOR_ENVIRONS]
        self.needs = [*self.needs, SIMULATED_FEATURE]


@simple_test
class NPBHostSpeeds(NPBLaunch):
    """A benchmark on one cluster of 16 hosts and on two, over a range of host speeds.

    Each is recorded once, and its record is replayed at every speed and round-trip time.

    A launch has a simulation for each speed of a host on one cluster, and for each speed and each
    round-trip time on two clusters; ``points/`` keeps a file of each.
    """

    descr = "NAS Parallel Benchmarks on two simulated clusters over one, at many host speeds"
    valid_prog_environs = [_SIMULATOR_ENVIRONS]
    num_tasks = 32
    limit = 3600

    #: BT and SP take square numbers of ranks, which 32 is not.
    benchmark = parameter(["CG", "EP", "FT", "IS", "LU", "MG"], type=str, loggable=True)
    problem_class = parameter(["S", "W", "A"], type=str, loggable=True)
    placement = parameter(["one-per-node"], type=str, loggable=True)
    #: Speeds of a host, Mflop/s.
    mflops = variable(
        typ.List[number_type(float, 0.001, 1e9)],
        value=[10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0],
        loggable=True,
    )
    #: Added round-trip times between the clusters, ms, as in the study.
    rtts = variable(
        typ.List[number_type(float, 0, 60000)], value=[0.0, 1.0, 2.0, 4.0], loggable=True
    )
    #: Files of results from elsewhere, drawn for comparison; paths from the checkout's root on.
    marks = variable(typ.List[str], value=[], loggable=True)

    @run_after("init")
    def set_cluster_features(self):
        self.set_ranks(self.num_tasks)
        self.set_required_features(self.placement, "two-clusters")
        self.needs = [*self.needs, SIMULATED_FEATURE]
        self.keep_files = [*self.keep_files, "points"]

    @run_before("run")
    def set_command(self):
        """Set the command of the sweep, which starts smpirun itself for each point."""
        self.job.launcher = getlauncher("local")()
        self.executable = f"{shlex.quote(sys.executable)} -m roundtrip.studies.npb.sweep"
        self.executable_opts += [
            f"--program={shlex.quote(self.build.program)}",
            f"--platform={shlex.quote(str(self.platform_file))}",
            f"--benchmark={self.benchmark}",
            f"--class={self.problem_class}",
            f"--mflops={','.join(f'{speed:g}' for speed in self.mflops)}",
            f"--rtts={','.join(f'{rtt:g}' for rtt in self.rtts)}",
        ]
        if self.marks:
            files = ",".join(str(paths.checkout() / name) for name in self.marks)
            self.executable_opts.append(f"--marks={shlex.quote(files)}")

    @sanity_function
    def assert_points_complete(self):
        points = len(self.mflops) * (1 + len(self.rtts))
        count = sn.count(sn.extractall(r"^npb,", "samples.csv"))
        return sn.all(
            [
                self.assert_launch_complete(),
                sn.assert_eq(count, points, msg="it has {0} points instead of {1}"),
            ]
        )
