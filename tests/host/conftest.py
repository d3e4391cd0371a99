"""A program that links a library."""

from support.linked import linked  # noqa: F401  a fixture
