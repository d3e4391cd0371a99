#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/session.hpp"

namespace roundtrip {

/// The GNU build id in a note segment (elf(5), NT_GNU_BUILD_ID), in hexadecimal; "" if it has none.
std::string build_id(std::string_view notes);

/// What this process runs: what the MPI library says of itself (first line, its device, the
/// standard), the file that it was loaded from, links resolved, with its build id or else its
/// sha256, and the sha256 of this program. Null where it cannot be known; of a simulated rank, of
/// which many share a process, all but what the library says.
nlohmann::ordered_json read_identity();

/// Collective: what the ranks run, as run.json has it (root only): one entry for all ranks of a
/// host that run the same, with `host`, the node that Slurm says it is (SLURMD_NODENAME; null
/// elsewhere) and `ranks`.
nlohmann::ordered_json identities_of(const Session& session);

}  // namespace roundtrip
