// Finds the port that a hub's frame is for.  A real hub repeats a frame to all ports and the cards
// drop what is not for them; sending to the right port alone saves these copies.
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

  // The port of the destination; nothing if it is unknown or a group: then all ports.
  [[nodiscard]] std::optional<std::size_t> destination(std::span<const std::byte> ethernet) const;

 private:
  std::unordered_map<std::uint64_t, std::size_t> ports_;
};

}  // namespace rtlink
