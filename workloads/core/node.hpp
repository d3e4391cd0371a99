#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "core/session.hpp"

namespace roundtrip {

/// What the kernel tells of the node that it runs on: kernel, processor, microcode, firmware (of
/// the BIOS), governor (of the first processor), and adapters (of InfiniBand and the like: a text
/// each, with firmware and driver). Null where a file does not exist or may not be read. `root` is
/// the folder of /proc and /sys. It reads a few hundred bytes, and of /proc/cpuinfo the first
/// processor.
nlohmann::ordered_json read_node(const std::filesystem::path& root);

/// Collective: that of each host, with its name as `host`, in order of their first rank, as
/// run.json has it (root only).
nlohmann::ordered_json nodes_of(const Session& session);

}  // namespace roundtrip
