"""As many ranks as a scale of the partition has: from two to every core of every node."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from roundtrip.sites.scales import ALL_CORES, ONE_PER_NODE, SCALES, features_for_scale, size


class Scale(rfm.RegressionTestPlugin):
    """Turns the parameter `scale` into nodes and ranks a node, once the partition is known.

    A check with the mixin Placement asks `need_the_scale` when it is made.  It may say
    in `fit_ranks` that it takes fewer ranks than there is room for.
    """

    #: `pair`: two ranks; `node`: a whole node; `nodes_2` to `nodes_16`: so many; `all`: all nodes.
    scale = parameter(SCALES, type=str, loggable=True)

    #: Several nodes are taken in groups of this many.
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
        self.num_tasks = self.fit_ranks(nodes, nodes * ranks_per_node)
        self.skip_if(
            not self.num_tasks, f"no number of ranks fits {nodes} nodes of {ranks_per_node} cores"
        )
        self.num_tasks_per_node = self.num_tasks // nodes

    def fit_ranks(self, nodes, ranks):
        """Ranks to start on `nodes` nodes, a multiple of these and `ranks` at most; 0: none fit."""
        return ranks
