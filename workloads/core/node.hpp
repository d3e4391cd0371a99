#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/session.hpp"

namespace roundtrip {

/// What the kernel tells of the node that it runs on: kernel, processor, microcode, firmware (of
/// the BIOS), governor (of the first processor), whether it runs several threads on a core (SMT,
/// `on` or `off`), memory, clock source, adapters (of InfiniBand and the like: a text each, with
/// firmware, driver and rate of each port), `logical`
/// (processors online), `huge_pages` (transparent ones, as the kernel has them), and the id of its
/// boot, which nodes of one machine share. Null where a file does not exist or may not be read.
/// `root` is the folder of /proc and /sys. It reads a few hundred bytes, and of /proc/cpuinfo the
/// first processor.
nlohmann::ordered_json read_node(const std::filesystem::path& root);

/// Bytes that the kernel has sent since boot over each network interface but the loopback. RDMA
/// passes it by, and is not in them.
using SentBytes = std::map<std::string, std::uint64_t>;
SentBytes read_sent_bytes(const std::filesystem::path& root);

/// `MTU 1500, 10000 Mbit/s` of a network interface; the speed only of hardware whose driver tells
/// it.
std::string read_interface(const std::filesystem::path& root, const std::string& name);

/// Collective: that of each host, with its name as `host`, in order of their first rank, as
/// run.json has it (root only). `before`: what had been sent when the measurement began; what was
/// sent since then is `sent_bytes`; `interfaces` says what those are that sent
/// something (read_interface).
nlohmann::ordered_json nodes_of(const Session& session, const SentBytes& before);

}  // namespace roundtrip
