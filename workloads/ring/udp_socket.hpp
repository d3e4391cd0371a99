#pragma once

#include <netinet/in.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

namespace roundtrip::ring {

/// A UDP socket at this node's IPv4 address on a network interface.
class UdpSocket {
 public:
  /// Throws Failure(usage) if there is no such interface or it has no address.
  explicit UdpSocket(const std::string& interface);
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  [[nodiscard]] const sockaddr_in& address() const { return address_; }
  /// Largest payload of a datagram in one frame of the interface, bytes.
  [[nodiscard]] std::size_t largest() const { return largest_; }

  /// Receive buffer of the kernel, bytes, including the kernel's overhead.
  [[nodiscard]] std::size_t room() const;

  /// Sends a datagram, which may be lost.
  void send(const sockaddr_in& to, std::span<const char> head, std::span<const char> body) const;
  /// Bytes of the datagram; 0 if none has arrived.
  [[nodiscard]] std::size_t receive(std::span<char> head, std::span<char> body) const;
  /// Sleeps until a datagram arrives, at most `longest`.
  void await(std::chrono::nanoseconds longest) const;

 private:
  int file_ = -1;
  sockaddr_in address_{};
  std::size_t largest_ = 0;
};

}  // namespace roundtrip::ring
