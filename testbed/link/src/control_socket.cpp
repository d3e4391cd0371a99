#include "control_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "system.hpp"

namespace rtlink {

namespace {
constexpr std::size_t kLongest = 1024;
}  // namespace

ControlSocket::ControlSocket(std::string path)
    : path_(std::move(path)),
      socket_(checked(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket")) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path)
    throw std::invalid_argument("path too long: " + path_);
  path_.copy(address.sun_path, path_.size());
  ::unlink(path_.c_str());
  checked(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
          "bind " + path_);
}

ControlSocket::~ControlSocket() {
  ::unlink(path_.c_str());
}

void ControlSocket::serve(const std::function<std::string(std::string_view)>& answer) const {
  std::array<char, kLongest> text{};
  sockaddr_un from{};
  socklen_t length = sizeof from;
  const ssize_t size = ::recvfrom(socket_.get(), text.data(), text.size(), 0,
                                  reinterpret_cast<sockaddr*>(&from), &length);
  if (size < 0) return;
  const std::string reply = answer({text.data(), static_cast<std::size_t>(size)});
  // A client that has not bound its socket to a name, or has closed it, gets no answer.
  (void)!::sendto(socket_.get(), reply.data(), reply.size(), 0,
                  reinterpret_cast<const sockaddr*>(&from), length);
}

}  // namespace rtlink
