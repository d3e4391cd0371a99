"""Builds the bundle of a campaign run from its raw files."""
