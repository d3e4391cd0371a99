#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/session.hpp"

namespace roundtrip {

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
