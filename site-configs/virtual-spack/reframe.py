"""Site `virtual-spack` as ReFrame takes it: `site.toml` says what it is."""

from roundtrip.sites.render import configuration

site_configuration = configuration(__file__)
