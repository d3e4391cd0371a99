"""Sites: renders, checks and writes a site's folder; its toolchains, Spack lock and machine."""
