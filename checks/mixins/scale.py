"""Numbers of ranks by scale of the partition: from two to every core of every node."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from roundtrip.sites.launching import ALL_CORES, ONE_PER_NODE, SCALES, features_for_scale, size


class Scale(rfm.RegressionTestPlugin):
    """Turns the parameter `scale` into nodes and ranks a node, once the partition is known.

    A check with the mixin Placement calls `need_the_scale` after init.  It may override
    `legal_rank_count` to use fewer ranks than fit on the nodes.
    """

    #: `pair`: two ranks; `node`: one node; `nodes_2` to `nodes_16`: 2 to 16; `all`: all nodes.
    scale = parameter(SCALES, type=str, loggable=True)

    #: A number of several nodes is a multiple of this.
    node_multiple = 1

    def need_the_scale(self, multi_node_feature=ONE_PER_NODE):
        self.skip_if(
            self.scale == "node" and self.placement != ALL_CORES, "one rank is on one node anyway"
        )
        self.need(*features_for_scale(self.scale, self.placement, multi_node_feature))
        self.num_tasks = 2  # until the partition is known

    @run_after("setup")
    def fill_the_partition(self):
        nodes, ranks_per_node = size(self.scale, self.placement, self.current_partition.extras)
        nodes -= nodes % self.node_multiple if nodes > 1 else 0
        self.num_tasks = self.legal_rank_count(nodes, nodes * ranks_per_node)
        self.skip_if(
            not self.num_tasks, f"no number of ranks fits {nodes} nodes of {ranks_per_node} cores"
        )
        self.num_tasks_per_node = self.num_tasks // nodes

    def legal_rank_count(self, nodes, max_ranks):
        """Return the ranks to start: a multiple of `nodes`, at most `max_ranks`; 0 if none fit."""
        return max_ranks
