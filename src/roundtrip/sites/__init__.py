"""Sites: renders, checks and writes a site's folder, and reads what Spack has locked for it."""
