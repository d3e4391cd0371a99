"""Toolchains of site `local`: a compiler, an MPI and a Boost, built once and cached by content.

`spec` declares them, `plan` has their parts on this machine, the store and the steps of a build,
`prefixes` makes the parts, and `build` puts toolchains together and tests them.
"""
