"""Verdicts on paired ratios that are valid after every round and at any stopping time.

Each round launches both sides in a random order.  Let y_i be the log ratio of round i, and let one
side be faster by the factor exp(m) wherever and whenever it is launched.  Then the order alone
decides the sign of y_i - m: it is a fair coin given all |y_j - m| and all earlier rounds, whatever
the drift, the tails, the ties, and the dependence between rounds.  (ABBA, that is AB BA or BA AB,
has one coin for two rounds: y_i is then the mean over the two.)  So bets on these signs have no
expected gain.  The wealth of a gambler who starts with 1, stakes the share b_i on the sign of round
i, and chooses b_i from what is known before the coin toss,

    e_n(m) = prod_i ( 1 + b_i sign(y_i - m) ),

is a martingale, and exceeds 1/alpha at any time with a probability of at most alpha (Ville).  Hence
at every n, {m : e_n(m) < 1/alpha} contains the true m with confidence 1 - alpha, and 1/e_n(0) is a
p-value for "no difference".

The bet is optimal if noise is logistic with the spread of the rounds so far and the true value lies
k spreads from m: like Wilcoxon's test it uses sizes, and limits the weight of outliers.  The wealth
is divided among several k of both signs.  A wrong model of the noise costs power, never validity.
Benjamini and Hochberg's rule on 1/e controls false discoveries among several claims; with e-values
it is valid under any dependence and at any stopping time.

Literature: J. Ville, Etude critique de la notion de collectif, 1939; V. H. de la Pena, A general
class of exponential inequalities for martingales and ratios, Annals of Probability 27, 1999
(symmetric differences); A. Ramdas, J. Ruf, M. Larsson and W. Koolen, Admissible anytime-valid
sequential inference must rely on nonnegative martingales, arXiv 2009.03167; V. Vovk and R. Wang,
Nonparametric e-tests of symmetry, arXiv 2208.08925; R. Wang and A. Ramdas, False discovery rate
control with e-values, J. R. Statist. Soc. B 84, 2022; I. Waudby-Smith and A. Ramdas, Estimating
means of bounded random variables by betting, J. R. Statist. Soc. B 86, 2024.

``python -m tools.bench sequential`` measures the error rate and the number of rounds.
`forecast_rounds` draws future rounds from the past ones and judges them by the same rule.  It is a
forecast, not a claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import SD_PER_MAD, Interval
from roundtrip.stats.verdicts import ClaimVerdict, KeyT, judge_families

Floats = NDArray[np.float64]

#: Distances of the true value in spreads; the wealth is divided equally among them.
_ALTERNATIVES_SPREADS = (0.3, 0.6, 1.2, 2.5, 5.0)
_BETS = np.array([*_ALTERNATIVES_SPREADS, *(-offset for offset in _ALTERNATIVES_SPREADS)])
#: Spread of log ratios that is assumed before there are data, and its weight in rounds.
_PRIOR_SPREAD, _PRIOR_WEIGHT_ROUNDS = 0.05, 2
_MIN_SPREAD = 1e-5
#: Ratio of the standard deviation of a logistic distribution to its scale.
_LOGISTIC_SD_PER_SCALE = math.pi / math.sqrt(3)
#: An interval whose end is farther than this from the median, in natural logarithms, is dropped.
_MAX_LOG_HALF_WIDTH = 5.0
#: Number of futures of a forecast, their length in rounds, and the fewest past rounds.
_FUTURES, MAX_FORECAST_ROUNDS, _MIN_PAST_ROUNDS = 25, 200, 4
_FORECAST_SEED = 1


def log_wealth(logs: Floats, values: Floats) -> Floats:
    """Return log e_n(m) after each round, shape (..., values, rounds).

    `logs` (..., rounds): log ratios of one or more series, in the order of rounds; `values`: the
    tested m.
    """
    scale = (_spreads(logs) / _LOGISTIC_SD_PER_SCALE)[..., None, :]
    offsets = (logs[..., None, :] - values[:, None]) / scale
    total = np.empty((len(_BETS), *offsets.shape))
    for number, bet in enumerate(_BETS * _LOGISTIC_SD_PER_SCALE):
        log_odds = 2 * (_log_cosh((offsets + bet) / 2) - _log_cosh((offsets - bet) / 2))
        total[number] = np.cumsum(math.log(2) - np.logaddexp(0, -log_odds), axis=-1)
    return np.asarray(np.logaddexp.reduce(total, axis=0) - math.log(len(_BETS)))


def _spreads(logs: Floats) -> Floats:
    """The spread of the rounds before each round; after few rounds it is near `_PRIOR_SPREAD`."""
    spreads = np.full(logs.shape, _PRIOR_SPREAD)
    for number in range(2, logs.shape[-1]):
        past = logs[..., :number]
        middle = np.median(past, axis=-1, keepdims=True)
        spread = np.maximum(SD_PER_MAD * np.median(np.abs(past - middle), axis=-1), _MIN_SPREAD)
        weight = number / (number + _PRIOR_WEIGHT_ROUNDS)
        spreads[..., number] = np.exp(
            weight * np.log(spread) + (1 - weight) * math.log(_PRIOR_SPREAD)
        )
    return spreads


def _log_cosh(x: Floats) -> Floats:
    size = np.abs(x)
    return np.asarray(size + np.log1p(np.exp(-2 * size)) - math.log(2))


def interval(ratios: Sequence[float], level: float) -> Interval:
    """Return the median of `ratios` and its interval at `level`, valid at any stopping time.

    `ratios`: one positive ratio per round, in their order; too few give no interval.  ValueError
    without ratios.
    """
    if not ratios:
        raise ValueError("needs at least one ratio")
    logs = np.log(np.asarray(ratios, dtype=float))
    middle = float(np.median(logs))
    limit = -math.log(1 - level)
    low, high = (_interval_end(logs, middle, side, limit) for side in (-1, 1))
    if low is None or high is None:
        return Interval(math.exp(middle), None, None, len(ratios), level)
    return Interval(math.exp(middle), math.exp(low), math.exp(high), len(ratios), level)


def _interval_end(logs: Floats, middle: float, side: int, limit: float) -> float | None:
    """The value on one `side` of the median at which the log wealth reaches `limit`, or None."""
    steps = np.concatenate([[0.0], np.geomspace(1e-5, _MAX_LOG_HALF_WIDTH, 100)])
    for _ in range(3):
        wealth = log_wealth(logs, middle + side * steps)[:, -1]
        indices = np.flatnonzero(wealth < limit)
        last = int(indices[-1]) if indices.size else 0
        if last == steps.size - 1:
            return None
        steps = np.linspace(steps[last], steps[last + 1], 20)
    return float(middle + side * steps[-1])


def judge(
    claims: Mapping[KeyT, Sequence[float]],
    levels: Levels,
    family: Callable[[KeyT], Hashable] | None = None,
    study: Callable[[KeyT], str] | None = None,
) -> dict[KeyT, ClaimVerdict]:
    """Judge claims after any round: intervals, p and q are valid at every stopping time.

    `claims` has the positive ratios of each claim, in the order of rounds.  `family` and `study`
    are as in `verdicts.judge`.
    """
    return judge_families(claims, levels, family, study, interval, _p_value)


def _p_value(ratios: Sequence[float]) -> float:
    """A p-value for "the ratio is 1", valid at any stopping time."""
    logs = np.log(np.asarray(ratios, dtype=float))
    return float(np.exp(-max(0.0, log_wealth(logs, np.zeros(1))[0, -1])))


def forecast_rounds(
    ratios: Sequence[float], levels: Levels, claims: int = 1, decided_claims: int = 0
) -> int | None:
    """Forecast the number of rounds until the claim is faster, slower or on par, at least 1.

    ``MAX_FORECAST_ROUNDS + 1`` if half of the futures need more rounds; None after too few rounds.
    `ratios`: positive, one per past round.  `claims` is the size of the family; `decided_claims` of
    them are faster or slower already, which lowers the bar for the next.
    """
    if len(ratios) < _MIN_PAST_ROUNDS:
        return None
    past = np.log(np.asarray(ratios, dtype=float))
    futures = np.random.default_rng(_FORECAST_SEED).choice(past, (_FUTURES, MAX_FORECAST_ROUNDS))
    logs = np.concatenate([np.broadcast_to(past, (_FUTURES, past.size)), futures], axis=1)
    margin = math.log1p(levels.equivalence_margin)
    wealth = log_wealth(logs, np.array([0.0, -margin, margin]))[..., past.size :]
    bar = math.log(claims / ((decided_claims + 1) * levels.false_discovery_level))
    limit = -math.log(1 - levels.confidence_level)
    size = np.abs(np.median(logs, axis=1))[:, None]
    is_different = (wealth[:, 0] >= max(bar, limit)) & (size >= math.log1p(levels.minimum_effect))
    is_decided = is_different | ((wealth[:, 1:].min(axis=1) >= limit) & (size < margin))
    first = np.where(is_decided.any(axis=1), is_decided.argmax(axis=1) + 1, MAX_FORECAST_ROUNDS + 1)
    return int(np.median(first))
