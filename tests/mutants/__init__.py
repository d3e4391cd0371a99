"""Mutants of the product, fixed by a seed, and which tests kill them: `python -m mutants`."""
