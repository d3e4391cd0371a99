#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/session.hpp"

namespace roundtrip {

/// The GNU build id in a note segment (elf(5), NT_GNU_BUILD_ID), in hexadecimal; "" if it has none.
std::string build_id(std::string_view notes);

/// The shared libraries that this process has loaded: by the name that was asked for, the file,
/// links resolved. Before MPI_Init they are those that the program links, and what LD_PRELOAD and
/// LD_AUDIT bring. Empty in a simulation.
std::map<std::string, std::string> loaded_libraries();

/// What this process runs: what the MPI library says of itself (first line, its device, the
/// standard), the file that it was loaded from, links resolved, with its build id or else its
/// sha256, the sha256 of this program, and `preload`: the variable by which the loader brings
/// others' code into it. Null where it cannot be known; of a simulated rank, of which many share a
/// process, all but what the library says.
nlohmann::ordered_json read_identity();

/// Collective: what the ranks run, as run.json has it (root only): one entry for all ranks of a
/// host that run the same, with `host`, the node that Slurm says it is (SLURMD_NODENAME; null
/// elsewhere), `ranks` and `libraries`, those that each rank had when it began.
nlohmann::ordered_json identities_of(const Session& session,
                                     const std::map<std::string, std::string>& libraries);

}  // namespace roundtrip
