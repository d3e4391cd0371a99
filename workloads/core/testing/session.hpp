#pragma once

#include "core/session.hpp"

namespace roundtrip {

/// MPI in tests that every rank runs (roundtrip_mpi_tests).
const Session& test_session();

}  // namespace roundtrip
