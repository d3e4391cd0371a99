"""Roundtrip's own performance, as ratios measured in one run: ``make bench``.

Each module is one figure with a ``measure()`` that yields lines to print as they come.
"""
