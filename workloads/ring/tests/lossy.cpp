// For LD_PRELOAD: a network that loses every twentieth datagram.
#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  using Send = ssize_t (*)(int, const msghdr*, int);
  static const auto real = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "sendmsg"));
  static std::atomic<unsigned> sent{0};
  constexpr unsigned one_of = 20;
  int kind = 0;
  socklen_t length = sizeof kind;
  getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &length);
  if (kind != SOCK_DGRAM || ++sent % one_of != 0) return real(fd, message, flags);
  ssize_t bytes = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    bytes += static_cast<ssize_t>(message->msg_iov[i].iov_len);
  }
  return bytes;
}
