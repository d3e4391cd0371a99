#include "forwarder.hpp"

namespace rtlink {

namespace {
constexpr std::size_t kAddress = 6;
constexpr std::size_t kMostAddresses = 4096;

std::uint64_t address(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8U | std::to_integer<std::uint64_t>(byte);
  return value;
}
}  // namespace

void Forwarder::learn(std::span<const std::byte> ethernet, std::size_t port) {
  if (ports_.size() >= kMostAddresses) ports_.clear();
  ports_[address(ethernet.subspan(kAddress, kAddress))] = port;
}

std::optional<std::size_t> Forwarder::destination(std::span<const std::byte> ethernet) const {
  if (std::to_integer<unsigned>(ethernet[0]) & 1U) return std::nullopt;
  const auto found = ports_.find(address(ethernet.first(kAddress)));
  if (found == ports_.end()) return std::nullopt;
  return found->second;
}

}  // namespace rtlink
