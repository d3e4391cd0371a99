"""Compares any two things that were measured: what differs in provenance, then what in speed."""
