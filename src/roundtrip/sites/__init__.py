"""Sites: renders, checks and writes a site's folder; its toolchains, its Spack lock, its machine."""
