"""Toolchains of site `local`: compiler + MPI + Boost, built once and cached by content.

`spec` names them, `plan` says what each is made of here, `store` keeps them, `build` makes them.
"""
