#include "ring/udp_socket.hpp"

#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/failure.hpp"

namespace roundtrip::ring {
namespace {

constexpr std::size_t ip_and_udp_heads = 28;
constexpr std::size_t largest_payload = 65'507;

[[noreturn]] void fail(const std::string& interface, const std::string& why) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  throw Failure(Exit::usage,
                "--interface: " + interface + " on " + host.data() + " cannot be used: " + why);
}

iovec piece(std::span<const char> bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
}

}  // namespace

UdpSocket::UdpSocket(const std::string& interface) {
  file_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(file_, SIOCGIFMTU, &request) != 0) {
    fail(interface, std::generic_category().message(errno));
  }
  const auto frame = static_cast<std::size_t>(request.ifr_mtu);
  largest_ = std::min(frame - ip_and_udp_heads, largest_payload);
  if (ioctl(file_, SIOCGIFADDR, &request) != 0) {
    fail(interface, std::generic_category().message(errno));
  }
  std::memcpy(&address_, &request.ifr_addr, sizeof address_);
  address_.sin_port = 0;
  socklen_t length = sizeof address_;
  auto* const generic = reinterpret_cast<sockaddr*>(&address_);
  if (bind(file_, generic, length) != 0 || getsockname(file_, generic, &length) != 0) {
    fail(interface, std::generic_category().message(errno));
  }
}

UdpSocket::~UdpSocket() {
  if (file_ >= 0) close(file_);
}

std::size_t UdpSocket::room() const {
  int bytes = 0;
  socklen_t length = sizeof bytes;
  getsockopt(file_, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
  return static_cast<std::size_t>(bytes);
}

void UdpSocket::send(const sockaddr_in& to, std::span<const char> head,
                     std::span<const char> body) const {
  std::array<iovec, 2> pieces{piece(head), piece(body)};
  msghdr message{};
  message.msg_name = const_cast<sockaddr_in*>(&to);
  message.msg_namelen = sizeof to;
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  sendmsg(file_, &message, 0);
}

std::size_t UdpSocket::receive(std::span<char> head, std::span<char> body) const {
  std::array<iovec, 2> pieces{piece(head), piece(body)};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return static_cast<std::size_t>(std::max<ssize_t>(0, recvmsg(file_, &message, 0)));
}

void UdpSocket::await(std::chrono::nanoseconds longest) const {
  pollfd watched{.fd = file_, .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(longest);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (longest - seconds).count()};
  ppoll(&watched, 1, &limit, nullptr);
}

}  // namespace roundtrip::ring
