"""The measuring machine: its facts, disturbances of measurements, and its provenance record."""
