#include "port.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>
#include <utility>

#include "frame.hpp"
#include "system.hpp"

namespace rtlink {

namespace {
constexpr int kBatch = 64;
constexpr int kSocketBuffer = 256 << 20;
constexpr std::size_t kControlBytes = 64;
constexpr int kSendAttempts = 1000;
constexpr std::size_t kShortest = sizeof(VnetHeader) + sizeof(ether_header);

void set_option(int socket, int level, int option, int value, const std::string& what) {
  checked(::setsockopt(socket, level, option, &value, sizeof value), what);
}

// Makes the buffer as large as allowed; only root may exceed the system's limit.
void enlarge(int socket, int forced, int modest) {
  const int size = kSocketBuffer;
  if (::setsockopt(socket, SOL_SOCKET, forced, &size, sizeof size) != 0) {
    ::setsockopt(socket, SOL_SOCKET, modest, &size, sizeof size);
  }
}

Descriptor open_interface(const std::string& name) {
  const unsigned index = ::if_nametoindex(name.c_str());
  if (index == 0) checked(-1, "interface " + name);
  Descriptor opened(
      checked(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "packet socket"));
  const int socket = opened.get();
  set_option(socket, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR");
  set_option(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING");
  set_option(socket, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS");
  set_option(socket, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS");
  enlarge(socket, SO_RCVBUFFORCE, SO_RCVBUF);
  enlarge(socket, SO_SNDBUFFORCE, SO_SNDBUF);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(index);
  checked(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address),
          "bind " + name);
  packet_mreq membership{};
  membership.mr_ifindex = static_cast<int>(index);
  membership.mr_type = PACKET_MR_PROMISC;
  checked(::setsockopt(socket, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof membership),
          "promiscuous " + name);
  return opened;
}

// Time since the kernel received the message; 0 if it gives no time stamp or the clock was set.
Nanoseconds age(msghdr& message, Nanoseconds real_now) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp{};
    std::memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
    const Nanoseconds passed =
        real_now - (static_cast<Nanoseconds>(stamp.tv_sec) * kSecond + stamp.tv_nsec);
    if (passed > 0 && passed < kSecond) return passed;
  }
  return 0;
}
}  // namespace

Port::Port(std::string name, std::size_t index)
    : name_(std::move(name)), index_(index), socket_(open_interface(name_)), buffers_(kBatch) {}

void Port::receive(FramePool& pool, const std::function<void(Frame)>& sink) {
  while (receive_batch(pool, sink) == kBatch) {
  }
}

int Port::receive_batch(FramePool& pool, const std::function<void(Frame)>& sink) {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts{};
  alignas(cmsghdr) std::array<std::array<std::byte, kControlBytes>, kBatch> controls{};
  for (std::size_t i = 0; i < kBatch; ++i) {
    if (!buffers_[i]) buffers_[i] = pool.take();
    parts[i] = {.iov_base = buffers_[i]->data(), .iov_len = kBufferSize};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_control = controls[i].data();
    messages[i].msg_hdr.msg_controllen = kControlBytes;
  }
  const int count = ::recvmmsg(descriptor(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (count <= 0) return 0;
  const Nanoseconds monotonic = now();
  const Nanoseconds real = clock_now(CLOCK_REALTIME);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (messages[i].msg_len < kShortest) continue;
    Frame frame;
    frame.buffer = std::move(buffers_[i]);
    frame.size = messages[i].msg_len;
    frame.port = index_;
    frame.arrival = monotonic - age(messages[i].msg_hdr, real);
    sink(std::move(frame));
  }
  return count;
}

bool Port::send(const Frame& frame) const {
  for (int attempt = 0; attempt < kSendAttempts; ++attempt) {
    if (::send(descriptor(), frame.buffer->data(), frame.size, 0) >= 0) return true;
    if (errno != ENOBUFS && errno != EAGAIN) return false;
    ::sched_yield();
  }
  return false;
}

}  // namespace rtlink
