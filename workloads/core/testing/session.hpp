#pragma once

#include "core/session.hpp"

namespace roundtrip {

/// The session of tests that every rank runs (roundtrip_mpi_tests).
const Session& test_session();

}  // namespace roundtrip
