#include <sys/resource.h>

#include <csignal>

#include "netpipe/netpipe.hpp"

namespace roundtrip::netpipe {
namespace {

/// Raw MPI that corrupts one element of the messages that the named side receives.
template <bool AtTransmitter>
class CorruptTransport : public MpiTransport {
 public:
  static constexpr std::string_view name = AtTransmitter ? "corrupt-back" : "corrupt-there";
  explicit CorruptTransport(Peer peer)
      : MpiTransport(peer), spoils_((peer.rank != 0) == AtTransmitter) {}

  void receive(char* data, int count) const {
    MpiTransport::receive(data, count);
    spoil(data, count);
  }
  void exchange(const char* out, char* in, int count) const {
    MpiTransport::exchange(out, in, count);
    spoil(in, count);
  }

 private:
  static constexpr int from_size = 512;
  static constexpr int element = 300;

  void spoil(char* data, int count) const {
    if (spoils_ && count >= from_size) data[element] = static_cast<char>(data[element] ^ 1);
  }

  bool spoils_;
};

/// Raw MPI that corrupts all received messages of a size except the first, the check before
/// measuring.
class CorruptLateTransport : public MpiTransport {
 public:
  static constexpr std::string_view name = "corrupt-late";
  using MpiTransport::MpiTransport;

  void receive(char* data, int count) const {
    MpiTransport::receive(data, count);
    if (count == last_) data[0] = static_cast<char>(data[0] ^ 1);
    last_ = count;
  }

 private:
  mutable int last_ = 0;
};

/// Raw MPI whose destructor simulates a full disk: no file may grow beyond 512 bytes. Not earlier,
/// since MPI keeps its shared memory in files.
class FullDiskTransport : public MpiTransport {
 public:
  static constexpr std::string_view name = "full-disk";
  using MpiTransport::MpiTransport;
  FullDiskTransport(const FullDiskTransport&) = delete;
  FullDiskTransport& operator=(const FullDiskTransport&) = delete;
  ~FullDiskTransport() {
    constexpr rlim_t most = 512;  // less than the header of samples.csv
    const rlimit limit{.rlim_cur = most, .rlim_max = most};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
  }
};

}  // namespace
}  // namespace roundtrip::netpipe

int main(int argc, char** argv) {
  using namespace roundtrip::netpipe;
  auto variants = study_variants();
  variants.push_back(variant<CorruptTransport<false>>());
  variants.push_back(variant<CorruptTransport<true>>());
  variants.push_back(variant<CorruptLateTransport>());
  variants.push_back(variant<FullDiskTransport>());
  NetPipe workload(std::move(variants));
  return roundtrip::run_main(argc, argv, workload);
}
