"""Builds the report of a bundle, as a pure function."""
