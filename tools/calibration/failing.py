"""False namings of flaky nodes at healthy sites, and how soon nodes that crash are named.

As `nodes`: 32 nodes, each night four rounds of pairs and each node alone, and the question asked
after each night.  A launch fails at the usual rate of its site, and with a node that crashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from roundtrip.stats.nodes.failures import Outcomes, flaky
from roundtrip.stats.settings import NodeSettings
from tools.calibration import nodes
from tools.calibration.counts import interval
from tools.calibration.estimates import Estimate, Told

#: Nights of a site without a flaky node, and days of a month.
NIGHTS, MONTH = 60, 30


@dataclass(frozen=True)
class Site:
    """`usual`: share of launches that fail; `own`: each node has its own rate, up to `usual`.

    In one night of ten, `bad` of the launches fail.
    """

    usual: float
    own: bool = False
    bad: float = 0.0


SITES = {
    "0.1 % fail": Site(0.001),
    "0.3 % fail": Site(0.003),
    "1 % fail": Site(0.01),
    "3 % fail": Site(0.03),
    "each node 0 to 3 %": Site(0.03, own=True),
    "0.3 %, bad nights 20 %": Site(0.003, bad=0.2),
}
#: The node that crashes; what share of its launches fail, and within how many nights it is named.
_CRASHES = 5
PLANTED = {"1/3 of launches": (1 / 3, 2), "5 % of launches": (0.05, 14)}


def lines(months: int, processes: int, settings: NodeSettings) -> Iterator[Told]:
    """The tables and their numbers, of about `months` site-months for each kind of site."""
    runs = max(1, months * MONTH // NIGHTS)
    site_months = runs * NIGHTS // MONTH
    yield f"flaky nodes: {site_months} months of each kind of site; nodes falsely named"
    with ProcessPoolExecutor(processes) as pool:
        for name, site in SITES.items():
            count = sum(pool.map(partial(false, site, settings), range(runs)))
            low, high = (100 * end for end in interval(count, site_months))
            share = 100 * count / site_months
            yield f"  {name:<22} {count}: {share:.1f} in 100 site-months [{low:.1f}, {high:.1f}]"
            yield Estimate(f"nodes falsely called flaky, {name}", count, site_months)
        for name, (share, nights) in PLANTED.items():
            for usual in (0.0, 0.003, 0.01):
                task = partial(named, share, nights, Site(usual), settings)
                found = sum(pool.map(task, range(4 * runs)))
                row = f"flaky node, {name}, named within {nights} nights where {usual:.1%} fail"
                yield f"  {row}: {found / (4 * runs):.0%} of {4 * runs}"
                yield Estimate(row, found, 4 * runs)


def false(site: Site, settings: NodeSettings, seed: int) -> int:
    """Nodes named in `NIGHTS` nights of a site where none is flaky."""
    rng = np.random.default_rng([3, seed])
    return len(_nights_of_naming(_launches(site, NIGHTS, {}, rng), settings))


def named(share: float, nights: int, site: Site, settings: NodeSettings, seed: int) -> bool:
    """Whether a node whose launches fail by `share` is named within its first `nights` nights."""
    rng = np.random.default_rng([4, seed])
    return _CRASHES in _nights_of_naming(_launches(site, nights, {_CRASHES: share}, rng), settings)


def _launches(
    site: Site, nights: int, crashing: dict[int, float], rng: np.random.Generator
) -> Outcomes:
    pairs, night, _ = nodes.design(nights)
    alone = np.repeat(np.arange(nights), nodes.NODES)
    launch = np.r_[np.repeat(np.arange(night.size), 2), night.size + np.arange(alone.size)]
    node = np.r_[pairs.ravel(), np.tile(np.arange(nodes.NODES), nights)]
    kind = np.repeat([0, 1], [night.size, alone.size])
    night = np.r_[night, alone]
    good = np.full(night.size, 1.0 if site.own else 1 - site.usual)
    own = site.usual * rng.random(nodes.NODES) if site.own else np.zeros(nodes.NODES)
    own[list(crashing)] = list(crashing.values())
    np.multiply.at(good, launch, 1 - own[node])
    if site.bad:
        good = np.where((rng.random(nights) < 0.1)[night], 1 - site.bad, good)
    names = tuple(map(str, range(nodes.NODES)))
    failed = rng.random(night.size) > good
    return Outcomes(names, failed, night, 2 * night + kind, launch, node)


def _nights_of_naming(every: Outcomes, settings: NodeSettings) -> dict[int, int]:
    """By node that is named: the first night in which it is."""
    found: dict[int, int] = {}
    for last in range(int(every.night.max()) + 1):
        first = max(0, last + 1 - max(settings.windows_nights))
        kept = (every.night >= first) & (every.night <= last)
        at = np.cumsum(kept) - 1
        on = kept[every.launch]
        known = Outcomes(
            every.names,
            every.failed[kept],
            every.night[kept] - first,
            every.stratum[kept],
            at[every.launch[on]],
            every.node[on],
        )
        for one in flaky(known, settings):
            for name in one.names:
                found.setdefault(int(name), last)
    return found
