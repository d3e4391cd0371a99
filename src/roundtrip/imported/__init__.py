"""Brings what other tools logged before: ReFrame's performance logs, reports and databases."""

from roundtrip.imported.store import FOLDER, read

__all__ = ["FOLDER", "read"]
