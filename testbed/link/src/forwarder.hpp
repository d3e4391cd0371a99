// Finds the destination port of a hub's frame.  A real hub repeats a frame to all ports and the
// cards drop frames for others; sending only to the destination port saves these copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

namespace rtlink {

class Forwarder {
 public:
  // `ethernet` begins with the destination and source addresses (12 bytes).
  void learn(std::span<const std::byte> ethernet, std::size_t port);

  // Port of the destination; empty if it is unknown or a group: then all ports.
  [[nodiscard]] std::optional<std::size_t> destination(std::span<const std::byte> ethernet) const;

 private:
  std::unordered_map<std::uint64_t, std::size_t> ports_;
};

}  // namespace rtlink
