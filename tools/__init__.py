"""Programs that measure and calibrate Roundtrip; the package does not need them."""
