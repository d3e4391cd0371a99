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

/// Files of the shared libraries that this process has loaded, links resolved, by requested name.
/// Before MPI_Init: the libraries that the program links, and those of LD_PRELOAD and LD_AUDIT.
/// Empty in a simulation.
std::map<std::string, std::string> loaded_libraries();

/// Software of this process: the MPI library's description of itself (first line, device,
/// standard), the file that it was loaded from, links resolved, with its build id or else its
/// sha256, the sha256 of this program, and `preload`, the setting of LD_PRELOAD, else of LD_AUDIT.
/// Unknown values are null; in a simulation, whose ranks share a process, all but the description.
nlohmann::ordered_json read_identity();

/// Collective: software of the ranks, for run.json (root only): one entry for all ranks of a host
/// with the same software, with `host`, `slurm_node` (SLURMD_NODENAME; null if unset), `ranks` and
/// `libraries`, those that each rank had loaded at its start.
nlohmann::ordered_json identities_of(const Session& session,
                                     const std::map<std::string, std::string>& libraries);

}  // namespace roundtrip
