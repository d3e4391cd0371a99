"""A launch on hosts that SimGrid simulates: its platform, and its check for failures."""

import pathlib

import reframe as rfm
from reframe.core.builtins import run_after, run_before, variable
from reframe.core.exceptions import SanityError

from roundtrip.errors import UserError
from roundtrip.sites import simgrid
from roundtrip.sites.launching import SIMULATED_FEATURE

#: The least time limit of a simulation, s: its budget is simulated time, not wall time.
_MIN_TIME_LIMIT_S = 3600
_SITES_FOLDER = pathlib.Path(__file__).resolve().parents[2] / "site-configs"


class OnSimulatedHosts(rfm.RegressionTestPlugin):
    """Facts about the hosts that the partition of a test simulates."""

    @property
    def simulated(self):
        """Whether the times of this launch come from a model."""
        return SIMULATED_FEATURE in self.current_environ.features

    @property
    def simulation_settings(self):
        """The partition's description of the simulation, which a check may change."""
        return dict(self.current_partition.extras["simulated"])

    @property
    def platform_file(self):
        """The template of the platform's XML file."""
        name = self.current_partition.extras["simulated"]["platform"]
        return _SITES_FOLDER / self.current_system.name / "platforms" / f"{name}.xml"

    def write_platform(self, ranks):
        """Write the platform to the stage folder, with a host for each rank, and return it.

        UserError if it has fewer hosts than `ranks`.
        """
        simulation = self.simulation_settings
        platform = simgrid.read_platform(
            self.platform_file, simulation["host_flops"], simulation.get("added_rtt_ms")
        )
        platform.write(pathlib.Path(self.stagedir), ranks)
        return platform


class Simulation(OnSimulatedHosts):
    """Prepares launches on partitions whose extras describe a simulation (``simulated``)."""

    #: Why a simulation of the check is meaningless, and therefore skipped; "" if it is not.
    not_simulated_reason = variable(str, value="")

    @run_after("init", always_last=True)
    def exclude_simulated_environs(self):
        if self.not_simulated_reason:
            self.valid_prog_environs = [
                f"{environ} -{SIMULATED_FEATURE}" for environ in self.valid_prog_environs
            ]

    @run_before("run", always_last=True)
    def set_up_simulation(self):
        if not self.simulated:
            return
        try:
            self.simulated_platform = self.write_platform(self.num_tasks)
        except UserError as error:
            self.skip(str(error))
        self.env_vars.update(self.simulated_platform.variables)
        self.time_limit = max(self.time_limit or 0, _MIN_TIME_LIMIT_S)
        if hasattr(self, "build"):  # a program of ours: all launches must be equal
            self.executable_opts = [*self.executable_opts, "--seed=1"]
        self.keep_files = [*self.keep_files, simgrid.PLATFORM_FILE, simgrid.HOSTS_FILE]

    @property
    def simulation_record(self):
        """`simulated` of run.json, for a program that does not write it; None if not simulated."""
        if not self.simulated:
            return None
        version = self.current_environ.extras["mpi_version"]
        return {"simgrid": version, **self.simulated_platform.facts}

    @run_before("sanity")
    def assert_simulation_succeeded(self):
        if self.simulated:
            stderr_text = pathlib.Path(self.stagedir, str(self.stderr)).read_text(errors="replace")
            if fault := simgrid.find_failure_line(stderr_text):
                raise SanityError(f"SimGrid: {fault}")
