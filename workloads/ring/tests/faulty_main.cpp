#include <algorithm>
#include <span>
#include <vector>

#include "ring/message_ports.hpp"
#include "ring/region_port.hpp"
#include "ring/ring.hpp"
#include "ring/token.hpp"

namespace roundtrip::ring {
namespace {

using MpiPort = TwoSidedPort<Sending::standard>;

/// Corrupts one received byte at the last rank.
class CorruptPort : public MpiPort {
 public:
  CorruptPort(const Topology& topology, std::size_t most, std::size_t heap)
      : MpiPort(topology, most, heap), spoils_(topology.next() == 0) {}
  char* get() {
    char* const token = MpiPort::get();
    if (spoils_) token[9] = static_cast<char>(token[9] ^ 1);
    return token;
  }

 private:
  bool spoils_;
};

/// Decrements the count of passes at the third pass, like bytes of an earlier lap.
class StalePort : public MpiPort {
 public:
  using MpiPort::MpiPort;
  char* get() {
    char* const token = MpiPort::get();
    if (++passes_ == 3) set_count(token, count_of(token) - 1);
    return token;
  }

 private:
  int passes_ = 0;
};

/// The region transport, but every rank shares the region before it modifies it, which copies it.
class CopyingPort : public RegionPort<Travel::mpi> {
 public:
  using RegionPort::RegionPort;
  char* get() {
    RegionPort::get();
    return split();
  }
};

/// The region transport, but each received region moves in the heap without a counted copy.
class MovingPort : public RegionPort<Travel::mpi> {
 public:
  using RegionPort::RegionPort;
  char* get() {
    RegionPort::get();
    return relocate();
  }
};

/// Delivers the count of passes, but from a token's third message on the other bytes of its second.
class SkimmingPort : public MpiPort {
 public:
  using MpiPort::MpiPort;
  void begin(std::size_t bytes) {
    MpiPort::begin(bytes);
    bytes_ = bytes;
    gets_ = 0;
  }
  char* get() {
    char* const token = MpiPort::get();
    const std::span<char> body = std::span(token, bytes_).subspan(counter_bytes);
    if (++gets_ <= 2) {
      kept_.assign(body.begin(), body.end());
    } else {
      std::ranges::copy(kept_, body.begin());
    }
    return token;
  }

 private:
  std::size_t bytes_ = 0;
  int gets_ = 0;
  std::vector<char> kept_;
};

}  // namespace
}  // namespace roundtrip::ring

int main(int argc, char** argv) {
  using namespace roundtrip::ring;
  Ring workload("ring",
                {variant<MpiPort>("mpi"), variant<CorruptPort>("corrupt"),
                 variant<StalePort>("stale"), variant<CopyingPort>("copying"),
                 variant<MovingPort>("moving"), with_reading(variant<SkimmingPort>("skimming"))});
  return roundtrip::run_main(argc, argv, workload);
}
