#pragma once

#include <string>

#include "core/session.hpp"

namespace roundtrip::npb {

/// Collective: throws Failure(usage) on all ranks if the ranks of some host, each with `bytes` of
/// arrays, need more memory than the host has to give. `who`: for the message.
void require_memory(const Session& session, const std::string& who, double bytes);

/// The most memory that this process has had so far, bytes; 0 where the kernel does not tell. Of
/// this program alone, unlike ru_maxrss, which starts from that of the program that started it.
double peak_bytes();

}  // namespace roundtrip::npb
