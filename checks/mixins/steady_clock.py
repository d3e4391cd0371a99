"""Lets ReFrame measure how long things take by a clock that nobody sets.

ReFrame 4.10 takes differences of `time.time()`: with the clock set back by two hours it sleeps two
hours before it looks at a job again (`reframe/frontend/executors/policies.py`), with the clock set
ahead it ends local jobs for their time limit (`reframe/core/schedulers/local.py`).
"""

import time

import reframe.core.schedulers.local as local
import reframe.frontend.executors.policies as policies

_BEGIN = time.time() - time.monotonic()


class _SteadyClock:
    """`time`, with a wall clock that goes on from here whatever is done to the system's."""

    def __getattr__(self, name):
        return getattr(time, name)

    @staticmethod
    def time():
        """Seconds since the epoch."""
        return _BEGIN + time.monotonic()


local.time = policies.time = _SteadyClock()
