"""The tables of a bundle: what columns they have, who fills them, who reads and checks them.

Each is a parquet file that any reader opens, without JSON in its cells; docs/bundle.md says what is
in them.  Column `launch` joins them.  The samples are the largest, and are read lazily elsewhere.
"""
