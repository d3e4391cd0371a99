"""Sites: what Spack has locked and installed there, and checking or writing a site's folder."""
