#include "core/connections.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace roundtrip {
namespace {

constexpr std::size_t sent = 100'000;

sockaddr_in loopback(std::uint32_t last_byte, in_port_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last_byte);
  address.sin_port = port;
  return address;
}

/// Bytes that are counted while 127.0.0.`last_byte` has sent to 127.0.0.1.
std::uint64_t bytes_from(std::uint32_t last_byte) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(1, 0);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int sender = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in own = loopback(last_byte, 0);
  EXPECT_EQ(bind(sender, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  EXPECT_EQ(connect(sender, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int receiver = accept(listener, nullptr, nullptr);
  EXPECT_EQ(write(sender, std::string(sent, 'x').data(), sent), static_cast<ssize_t>(sent));
  std::string all(sent, ' ');
  EXPECT_EQ(recv(receiver, all.data(), sent, MSG_WAITALL), static_cast<ssize_t>(sent));
  std::uint64_t counted = tcp_bytes();
  for (int i = 0; i < 100 && counted < sent && last_byte != 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // an acknowledgement may be late
    counted = tcp_bytes();
  }
  for (const int file : {listener, sender, receiver}) close(file);
  return counted;
}

TEST(Connections, CountWhatGoesToAnotherHost) {
  const auto counted = bytes_from(2);
  EXPECT_GE(counted, sent);
  EXPECT_LT(counted, sent + 100);
}

TEST(Connections, DoNotCountWhatStaysInTheHost) {
  EXPECT_EQ(bytes_from(1), 0);
}

}  // namespace
}  // namespace roundtrip
