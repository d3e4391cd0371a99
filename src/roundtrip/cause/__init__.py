"""Finds which of several changes made a series slower, by interleaved launches."""
