"""OSU Micro-Benchmarks among as many ranks as fit on the partition."""

from reframe.core.builtins import parameter, run_after

from roundtrip.sites.launching import ALL_CORES, ONE_PER_NODE
from roundtrip.studies.osu import derived as osu

from ..mixins.scale import Scale
from ..test_selection import simple_test
from .osu import OSUBase


@simple_test
class OSUAtScale(Scale, OSUBase):
    """One benchmark among the ranks of a scale; OSUGroup has fixed numbers of ranks."""

    descr = "OSU Micro-Benchmarks among all ranks that the partition has room for"

    #: The program, without its prefix osu_.
    benchmark = parameter(osu.MANY_RANK_BENCHMARKS, type=str, loggable=True)
    #: `all-cores`: a rank on every core of the nodes; `one-per-node`: one rank on each.
    placement = parameter([ALL_CORES, ONE_PER_NODE], type=str, loggable=True)
    node_multiple = 2  # pairs take an even number of ranks

    @run_after("init")
    def place_ranks(self):
        self.need_the_scale()

    def legal_rank_count(self, nodes, max_ranks):
        return max_ranks - max_ranks % 2 if nodes == 1 else max_ranks
