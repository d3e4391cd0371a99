#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roundtrip {

class Session;

/// Facts of this node from the kernel: kernel, processor, microcode, firmware (BIOS version),
/// governor (first processor), SMT (`on` or `off`), memory, clock source, adapters (InfiniBand and
/// the like: one text each, with firmware, driver and rate of each port), `logical` (number of
/// online processors), `huge_pages` (setting of transparent huge pages), and boot id, which nodes
/// of one machine share. Null where a file does not exist or is not readable. `root` is the folder
/// of /proc and /sys. Reads a few hundred bytes, and of /proc/cpuinfo only the first processor.
nlohmann::ordered_json read_node(const std::filesystem::path& root);

/// Bytes sent since boot by each network interface except loopback. Excludes RDMA, which bypasses
/// the kernel.
using SentBytes = std::map<std::string, std::uint64_t>;
SentBytes read_sent_bytes(const std::filesystem::path& root);

/// Traffic of the interfaces since `before`: `sent_bytes`, and read_interface of each that sent
/// any, `interfaces`.
nlohmann::ordered_json traffic_since(const SentBytes& before);

/// `MTU 1500, 10000 Mbit/s` of a network interface; the speed only if it is hardware whose driver
/// reports it.
std::string read_interface(const std::filesystem::path& root, const std::string& name);

/// Collective: `nodes` of run.json, at the root: read_node of each host in order of its first rank,
/// with its name (`host`), traffic_since the counts at the start of the measurement, and tcp_bytes
/// of its first rank.
nlohmann::ordered_json nodes_of(const Session& session, const SentBytes& before);

}  // namespace roundtrip
