"""A pool of Debian sources, and a git repository."""

from support.sources import clone, pool  # noqa: F401  fixtures
