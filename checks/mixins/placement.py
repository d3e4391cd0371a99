"""The placement of ranks: all in one node, or each on a node of its own."""

import shlex

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import parameter, run_after, run_before, variable

from roundtrip.sites import launchers

from . import launcher
from .skipped import tell_if_skipped


class Placement(rfm.RegressionTestPlugin):
    """Turns the parameter `placement` into nodes, ranks a node, launcher and binding.

    A partition offers a placement by a feature of the same name.  The extras of an environment may
    have the launcher of its MPI: ``launcher`` (a ReFrame launcher) and ``launcher_options``.
    The check sets `num_tasks` in its body.
    """

    #: `shared-memory`: all ranks in one node; `one-per-node`: each rank on a node of its own.
    placement = parameter(["shared-memory", "one-per-node"], type=str, loggable=True)
    #: Features that partition and environment together must offer; a skipped case names them.
    needs = variable(typ.List[str], value=[])
    #: The extra with the launcher's options; without it, ``launcher_options``.
    launcher_options_key = "launcher_options"
    #: Options in shell syntax that replace the environment's ``launcher_options``.
    launcher_options = variable(str, type(None), value=None)

    def need(self, *features):
        """Run only on partitions that offer all `features`."""
        self.needs = [*self.needs, *features]
        self.valid_systems = [" ".join(f"+{name}" for name in features)]
        tell_if_skipped(self)

    @run_after("init")
    def place_ranks(self):
        self.need(self.placement)
        self.num_tasks_per_node = self.num_tasks if self.placement == "shared-memory" else 1

    @property
    def num_hosts(self):
        return self.num_tasks // self.num_tasks_per_node

    @property
    def steps(self):
        """Whether launches are steps of the job that runs ReFrame, not jobs."""
        return launcher.starts_steps(self.job.launcher)

    @run_before("run")
    def set_launcher(self):
        extras = dict(self.current_environ.extras)
        if self.launcher_options is not None:
            extras["launcher_options"] = shlex.split(self.launcher_options)
        self.job.launcher = launcher.environment_launcher(self.job, extras)
        default = extras.get("launcher_options", [])
        options = extras.get(self.launcher_options_key, default)
        failure_options = launchers.fail_fast_options(self.job.launcher.registered_name)
        self.job.launcher.options += [*options, *failure_options]
        if self.steps:  # a step would take all nodes of the allocation
            self.job.options += [f"--nodes={self.num_hosts}"]
