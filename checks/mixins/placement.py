"""The placement of ranks: in one node or each on its own, on named pairs of nodes, and on as many
nodes as a scale of the partition has.

The environment variable ROUNDTRIP_PAIRS names pairs, in JSON: ``hosts``, lists of one or two nodes,
and the round of the schedule.  Without it the scheduler chooses the nodes.
"""

import json
import os
import shlex
import sys

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core import runtime
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, variable

from roundtrip.sites import launching, schedulers
from roundtrip.sites.launching import (
    ALL_CORES,
    ONE_PER_NODE,
    SCALES,
    SIMULATED_FEATURE,
    features_for_scale,
    nodes_and_ranks_per_node,
)

_PAIR_ROUND = json.loads(os.environ.get("ROUNDTRIP_PAIRS", "null"))
_printed_skip_lines = set()


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
    #: Those of them that a partition must offer; set by `set_required_features`.
    partition_features = ()
    #: The extra with the launcher's options; without it, ``launcher_options``.
    launcher_options_key = "launcher_options"
    #: Options in shell syntax that replace the environment's ``launcher_options``.
    launcher_options = variable(str, type(None), value=None)

    def set_required_features(self, *features):
        """Let the test run only on partitions that offer the features of all calls; add them to
        `needs`."""
        self.needs = [*self.needs, *features]
        self.partition_features = tuple(dict.fromkeys((*self.partition_features, *features)))
        self.valid_systems = [" ".join(f"+{name}" for name in self.partition_features) or "*"]
        _print_skip_reason(self)

    @run_after("init")
    def set_placement(self):
        self.set_required_features(self.placement)
        self.num_tasks_per_node = self.num_tasks if self.placement == "shared-memory" else 1

    @property
    def num_hosts(self):
        return self.num_tasks // self.num_tasks_per_node

    @property
    def launch_scheduler(self):
        """The scheduler that starts the launch, as a job or as a step of a job."""
        scheduler = self.current_partition.scheduler.registered_name
        return schedulers.scheduler_of_reframe_name(scheduler, self.job.launcher.registered_name)

    @property
    def launches_are_steps(self):
        """Whether a launch is a step of the job that runs ReFrame, not a job of its own."""
        return step_scheduler(self.job.launcher).allocates_nodes

    @run_before("run")
    def set_launcher(self):
        extras = dict(self.current_environ.extras)
        if self.launcher_options is not None:
            extras["launcher_options"] = shlex.split(self.launcher_options)
        self.job.launcher = environment_launcher(self.job, extras)
        default = extras.get("launcher_options", [])
        options = extras.get(self.launcher_options_key, default)
        known = schedulers.options_of_launcher(self.job.launcher.registered_name)
        # Without its option, the partner of a failed rank waits until the time limit.
        self.job.launcher.options += [*options, *(known.fail_fast if known else ())]
        if self.launches_are_steps:  # a step would take all nodes of the allocation
            self.job.options += step_scheduler(self.job.launcher).node_count_options(self.num_hosts)


def step_scheduler(launcher):
    """The scheduler that starts launches by `launcher` as steps of the job that runs ReFrame.

    The null scheduler, which allocates no nodes, if they are jobs of their own.
    """
    return schedulers.scheduler_of_reframe_name("", launcher.registered_name)


def environment_launcher(job, extras):
    """The launcher that the extras of an environment name; without one, that of the job.

    A launcher that starts steps keeps the options that the site gave it.
    """
    key = extras.get("launcher")
    scheduler = step_scheduler(job.launcher)
    if key and not (
        scheduler.allocates_nodes and key == scheduler.launcher
    ):  # which starts the steps
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
        gaps = [
            _describe_missing_feature(test, partition, environ) for environ in partition.environs
        ]
        if gaps and all(gaps):
            line = f"skipped on {partition.name}: tests of {check} {gaps[0]}"
            if line not in _printed_skip_lines:
                _printed_skip_lines.add(line)
                print(line)


def _describe_missing_feature(test, partition, environ):
    """Return why the test cannot run there, as the end of a sentence; None if it can.

    The reason is the first missing feature, or why the test is not simulated.
    """
    features = {*partition.features, *environ.features}
    if SIMULATED_FEATURE in features and test.not_simulated_reason:
        return f"are not simulated: {test.not_simulated_reason}"
    for feature in test.needs:
        if feature not in features:
            reason = launching.describe_shortage(feature, partition.extras)
            return f"that need {feature} ({reason})" if reason else f"that need {feature}"
    return None


class OnPairs(rfm.RegressionTestPlugin):
    """Makes a launch for each pair of nodes, or single node, that a campaign names.

    Needs the mixin Placement.
    """

    if _PAIR_ROUND:
        #: The number of the pair in its round, because a test's name must not have names of nodes.
        pair = parameter(range(len(_PAIR_ROUND["hosts"])), type=int)

    @property
    def pair_hosts(self):
        """The nodes of this launch; none if the scheduler chooses."""
        return _PAIR_ROUND["hosts"][self.pair] if _PAIR_ROUND else []

    @property
    def pair_facts(self):
        """The round of pairs and its number in the night, for case.json; {} without pairs."""
        return (
            {key: _PAIR_ROUND[key] for key in ("pair_round", "pair_night_round")}
            if _PAIR_ROUND
            else {}
        )

    @run_before("run")
    def set_pair_nodes(self):
        if self.pair_hosts:
            access = self.current_partition.access
            self.job.options += self.launch_scheduler.node_options(self.pair_hosts, access)


class Scale(rfm.RegressionTestPlugin):
    """Turns the parameter `scale` into nodes and ranks a node, once the partition is known.

    A check with the mixin Placement calls `set_scale_features` after init.  It may override
    `legal_rank_count` to use fewer ranks than fit on the nodes.
    """

    #: `pair`: two ranks; `node`: one node; `nodes_2` to `nodes_16`: 2 to 16; `all`: all nodes.
    scale = parameter(SCALES, type=str, loggable=True)

    #: A number of several nodes is a multiple of this.
    node_multiple = 1

    def set_scale_features(self, multi_node_feature=ONE_PER_NODE):
        self.skip_if(
            self.scale == "node" and self.placement != ALL_CORES, "one rank is on one node anyway"
        )
        self.set_required_features(
            *features_for_scale(self.scale, self.placement, multi_node_feature)
        )
        self.num_tasks = 2  # until the partition is known

    @run_after("setup")
    def set_scale_ranks(self):
        nodes, ranks_per_node = nodes_and_ranks_per_node(
            self.scale, self.placement, self.current_partition.extras
        )
        nodes -= nodes % self.node_multiple if nodes > 1 else 0
        self.num_tasks = self.legal_rank_count(nodes, nodes * ranks_per_node)
        self.skip_if(
            not self.num_tasks, f"no number of ranks fits {nodes} nodes of {ranks_per_node} cores"
        )
        self.num_tasks_per_node = self.num_tasks // nodes

    def legal_rank_count(self, nodes, max_ranks):
        """Return the ranks to start: a multiple of `nodes`, at most `max_ranks`; 0 if none fit."""
        return max_ranks
