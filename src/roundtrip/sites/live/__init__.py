"""Tries on a site's own nodes whether its toolchains start: ``roundtrip site check --live``."""
