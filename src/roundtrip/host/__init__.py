"""The machine that measures: its facts, what may spoil a measurement, and its provenance record."""
