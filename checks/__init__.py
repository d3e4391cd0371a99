"""The checks of all studies."""

from . import workarounds  # noqa: F401  for what ReFrame lacks
