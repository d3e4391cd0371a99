"""Pages that are derived from published reports: the index, and a history per campaign and site."""
