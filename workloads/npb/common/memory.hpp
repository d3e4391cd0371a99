#pragma once

#include <string>

#include "core/session.hpp"

namespace roundtrip::npb {

/// Collective: throws Failure(usage) on all ranks if the ranks of some host, each with `bytes` of
/// arrays, need more memory than the host has available. `who`: name in the message.
void require_memory(const Session& session, const std::string& who, double bytes);

/// Peak memory of this process, bytes; 0 if the kernel does not report it. Not from ru_maxrss,
/// which includes the peak of the process before exec().
double peak_bytes();

}  // namespace roundtrip::npb
