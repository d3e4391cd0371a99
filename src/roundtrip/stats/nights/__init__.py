"""What changed over the nights of a site: steps, drifts and spikes in series of nightly medians."""

from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.settings import Settings

__all__ = ["Settings", "judge"]
