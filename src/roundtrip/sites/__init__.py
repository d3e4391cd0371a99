"""Sites: renders, checks and writes a site's folder, and reads its Spack lock file."""
