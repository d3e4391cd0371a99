"""Roundtrip: MPI benchmark campaigns on a site, from the declaration to a published report."""

__version__ = "1.0.0"
