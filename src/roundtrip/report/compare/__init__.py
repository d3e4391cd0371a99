"""Compares any two measurements: first what differs in provenance, then what in speed."""
