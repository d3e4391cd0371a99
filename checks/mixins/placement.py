"""The placement of ranks: all in one node, or each on a node of its own."""

import shlex
import sys

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core import runtime
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, variable

from roundtrip.sites import launching, schedulers
from roundtrip.sites.launching import SIMULATED

_printed_lines = set()


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
        _print_skip_reason(self)

    @run_after("init")
    def place_ranks(self):
        self.need(self.placement)
        self.num_tasks_per_node = self.num_tasks if self.placement == "shared-memory" else 1

    @property
    def num_hosts(self):
        return self.num_tasks // self.num_tasks_per_node

    @property
    def batch(self):
        """The scheduler whose jobs or steps have the ranks."""
        scheduler = self.current_partition.scheduler.registered_name
        return schedulers.by_reframe(scheduler, self.job.launcher.registered_name)

    @property
    def steps(self):
        """Whether launches are steps of the job that runs ReFrame, not jobs."""
        return step_scheduler(self.job.launcher).allocates

    @run_before("run")
    def set_launcher(self):
        extras = dict(self.current_environ.extras)
        if self.launcher_options is not None:
            extras["launcher_options"] = shlex.split(self.launcher_options)
        self.job.launcher = environment_launcher(self.job, extras)
        default = extras.get("launcher_options", [])
        options = extras.get(self.launcher_options_key, default)
        known = schedulers.launcher_options(self.job.launcher.registered_name)
        # Without its option, the partner of a failed rank waits until the time limit.
        self.job.launcher.options += [*options, *(known.fail_fast if known else ())]
        if self.steps:  # a step would take all nodes of the allocation
            self.job.options += step_scheduler(self.job.launcher).count_options(self.num_hosts)


def step_scheduler(launcher):
    """The scheduler of which launches by `launcher` are steps, in the job that runs ReFrame; the
    null object if they are no steps."""
    return schedulers.by_reframe("", launcher.registered_name)


def environment_launcher(job, extras):
    """The launcher that an environment's `extras` name; without one, the job's own."""
    key = extras.get("launcher")
    scheduler = step_scheduler(job.launcher)
    if key and not (scheduler.allocates and key == scheduler.launcher):  # which starts the steps
        return getlauncher(key)()
    return job.launcher


def _print_skip_reason(test):
    """Print in ``reframe -l`` why a partition cannot run a test: ReFrame omits such tests.

    There is a line for each check, partition and feature that the partition lacks.
    """
    if not {"-l", "-L", "--list", "--list-detailed"} & set(sys.argv):
        return
    check = type(test).__name__.split("_")[0]
    for partition in runtime.runtime().system.partitions:
        gaps = [_missing_feature(test, partition, environ) for environ in partition.environs]
        if gaps and all(gaps):
            line = f"skipped on {partition.name}: tests of {check} {gaps[0]}"
            if line not in _printed_lines:
                _printed_lines.add(line)
                print(line)


def _missing_feature(test, partition, environ):
    """Return the first feature that is missing, with the reason if it is a size, or why the test is
    not simulated; None if nothing is missing."""
    features = {*partition.features, *environ.features}
    if SIMULATED in features and test.why_not_simulated:
        return f"are not simulated: {test.why_not_simulated}"
    for feature in test.needs:
        if feature not in features:
            reason = launching.shortage(feature, partition.extras)
            return f"that need {feature} ({reason})" if reason else f"that need {feature}"
    return None
