"""Toolchains of site `local`: a compiler, an MPI and a Boost, built once and cached by content.

`spec` names them, `plan` says what each consists of on this machine, `store` keeps them, and
`build` makes them.
"""
