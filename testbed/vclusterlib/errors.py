"""Errors that end a command with one line on stderr."""

from __future__ import annotations


class VclusterError(Exception):
    """A failure that the input does not explain: exit status 1."""

    status = 1


class UserError(VclusterError):
    """Bad input or an unsuitable machine: exit status 2.  The message says what is right."""

    status = 2
