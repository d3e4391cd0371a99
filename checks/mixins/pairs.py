"""Launches on pairs of nodes that a campaign names: one for each pair, or for each single node.

The environment variable ROUNDTRIP_PAIRS names them, in JSON: ``hosts``, lists of one or two nodes,
and the round of the schedule.  Without it the scheduler chooses the nodes.
"""

import json
import os

import reframe as rfm
from reframe.core.builtins import parameter, run_before

_PAIR_ROUND = json.loads(os.environ.get("ROUNDTRIP_PAIRS", "null"))


class OnPairs(rfm.RegressionTestPlugin):
    """Passes the nodes of a launch to the scheduler: `batch` of the mixin Placement."""

    if _PAIR_ROUND:
        #: The number of the pair in its round, because a test's name must not have names of nodes.
        pair = parameter(range(len(_PAIR_ROUND["hosts"])), type=int)

    @property
    def pair_hosts(self):
        """The nodes of this launch; none if the scheduler chooses."""
        return _PAIR_ROUND["hosts"][self.pair] if _PAIR_ROUND else []

    @property
    def pair_facts(self):
        """The facts of the round for case.json."""
        return (
            {key: _PAIR_ROUND[key] for key in ("pair_round", "pair_night_round")}
            if _PAIR_ROUND
            else {}
        )

    @run_before("run")
    def go_to_the_pair(self):
        if self.pair_hosts:
            access = self.current_partition.access
            self.job.options += self.batch.node_options(self.pair_hosts, access)
