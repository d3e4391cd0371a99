#pragma once

#include <string>

#include "core/session.hpp"

namespace roundtrip::npb {

/// Collective: throws Failure(usage) on all ranks if the ranks of some host, each with `bytes` of
/// arrays, need more memory than the host has left. `who`: for the message.
void require_memory(const Session& session, const std::string& who, double bytes);

/// Peak memory of this process so far, in bytes; 0 if the kernel does not report it. It counts this
/// program alone, whereas ru_maxrss starts at the peak of the program that started this one.
double peak_bytes();

}  // namespace roundtrip::npb
