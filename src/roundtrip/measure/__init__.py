"""Runs a declared campaign with ReFrame, and collects its launches in a signed bundle."""
