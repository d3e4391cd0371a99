"""Pseudonyms that a bundle of this session gives to hosts."""

from __future__ import annotations

from roundtrip.measure import pseudonyms
from roundtrip.measure.pseudonyms import Pseudonyms

#: The host of `synthetic.Tree`.
HOST = "thunderbolt.example.org"


def pseudonym(host: str = HOST, site: str = "local") -> str:
    """That of `host` in bundles of `site`."""
    return Pseudonyms([host], pseudonyms.site_key(site)).pseudonym(host)
