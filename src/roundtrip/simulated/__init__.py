"""What sites that SimGrid simulates need: their platforms, as files for ``smpirun``."""
