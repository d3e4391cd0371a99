"""Toolchains of site `local`: a compiler, an MPI and a Boost, built once and cached by content.

`spec` has their parts, `store` what builds share, and `build` makes and tests toolchains.
"""
