"""Errors that end a command with one line on stderr."""

from __future__ import annotations


class VclusterError(Exception):
    """Something went wrong that the input does not explain: exit status 1."""

    status = 1


class UserError(VclusterError):
    """Bad input, or a machine that cannot do it: exit status 2.  The message says what is right."""

    status = 2
