// A unix datagram socket that answers each datagram to its sender.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "system.hpp"

namespace rtlink {

class ControlSocket {
 public:
  explicit ControlSocket(std::string path);
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;
  ~ControlSocket();

  // Answers one datagram, if there is one.
  void serve(const std::function<std::string(std::string_view)>& answer) const;

  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  std::string path_;
  Descriptor socket_;
};

}  // namespace rtlink
