// Moves frames between ports through media, and carries out commands.
//
// wire: frames from port 0 leave through port 1 and vice versa; one medium per direction.
// hub:  one medium; a frame leaves through the port of its destination, or through all others.
// A frame is due at its arrival in the kernel + queueing + serialisation + delay, independent of
// the wakeup latency of this process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "control_socket.hpp"
#include "forwarder.hpp"
#include "frame.hpp"
#include "medium.hpp"
#include "options.hpp"
#include "port.hpp"
#include "statistics.hpp"
#include "system.hpp"
#include "wakeup.hpp"

namespace rtlink {

class Engine {
 public:
  // Throws std::system_error if a port cannot be opened.
  Engine(const Options& options, bool fifo);

  // Runs until SIGTERM or SIGINT.
  void run();

 private:
  struct Lane {
    std::string name;
    std::unique_ptr<Medium> medium;
    Statistics statistics;
    Loss loss;
  };

  void receive(std::size_t port);
  void admit(Frame frame);
  void deliver_due(Lane& lane);
  void emit(const Delivery& delivery);
  void configure();
  [[nodiscard]] bool is_cut(Nanoseconds at) const;
  [[nodiscard]] std::optional<Nanoseconds> next_due();
  std::string obey(std::string_view text);
  [[nodiscard]] std::string report() const;

  bool hub_;
  bool fifo_;
  Settings settings_;
  Nanoseconds cut_until_ = 0;
  std::uint64_t send_errors_ = 0;
  // If two reports have the same start and number of changes, the link did not change in between.
  Nanoseconds started_ = now();
  std::uint64_t changes_ = 0;
  FramePool pool_;
  Forwarder forwarder_;
  std::vector<Port> ports_;
  std::vector<Lane> lanes_;
  Wakeup wakeup_;
  std::unique_ptr<ControlSocket> control_;
};

}  // namespace rtlink
