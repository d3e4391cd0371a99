"""Imports results of other tools: ReFrame's performance logs, reports and databases."""

from roundtrip.imported.store import FOLDER, read

__all__ = ["FOLDER", "read"]
