"""Roundtrip's own performance, as ratios measured in one run: ``make bench``.

Each module is one figure.  Its ``measure()`` yields lines, which are printed as they come.
"""
