// roundtrip-link: an emulated link between network interfaces, for kernels without netem.
// Exit status: 0 after SIGTERM or SIGINT, 1 after an error, 2 for bad options.
#include <exception>
#include <iostream>

#include "engine.hpp"
#include "options.hpp"
#include "scheduling.hpp"

int main(int argc, char** argv) {
  const auto parsed = rtlink::parse_options({argv + 1, argv + argc});
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    std::cerr << "roundtrip-link: " << *wrong << '\n';
    return 2;
  }
  try {
    const auto& options = std::get<rtlink::Options>(parsed);
    const bool fifo = rtlink::schedule_promptly(options.fifo);
    rtlink::Engine(options, fifo).run();
  } catch (const std::exception& error) {
    std::cerr << "roundtrip-link: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
