"""The recorded Spack environment."""

from support.recorded import active  # noqa: F401  a fixture
