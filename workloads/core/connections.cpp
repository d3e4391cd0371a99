#include "core/connections.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace roundtrip {
namespace {

/// The IP address in a socket's address; empty if it has none.
std::string ip_address(const sockaddr_storage& address) {
  const auto text = [&address](std::size_t offset, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(&address) + offset, size);
  };
  if (address.ss_family == AF_INET) return text(offsetof(sockaddr_in, sin_addr), sizeof(in_addr));
  if (address.ss_family == AF_INET6) {
    return text(offsetof(sockaddr_in6, sin6_addr), sizeof(in6_addr));
  }
  return {};
}

/// Bytes that arrived through this file; 0 unless it is a connection to another host.
std::uint64_t bytes_of(int file) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  if (getsockname(file, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return 0;
  if (getpeername(file, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return 0;
  // The two ends of a connection within a host have the same address.
  if (ip_address(own).empty() || ip_address(own) == ip_address(peer)) return 0;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return info.tcpi_bytes_acked;
}

}  // namespace

std::uint64_t tcp_bytes() {
  std::uint64_t bytes = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    bytes += bytes_of(std::stoi(entry.path().filename().string()));
  }
  return bytes;
}

}  // namespace roundtrip
