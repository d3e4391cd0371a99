"""Time and memory of a report on a million samples."""

from __future__ import annotations
