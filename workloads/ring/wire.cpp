#include "ring/wire.hpp"

#include <mpi.h>
#include <sched.h>

#include "ring/datagrams.hpp"

namespace roundtrip::ring {
namespace {

class MpiWire final : public Wire {
 public:
  MpiWire(const Topology& topology, Member& member) : topology_(topology), member_(member) {}

  void send(int rank, Region&& region) override {
    Region sent = std::move(region);
    const auto bytes = sent.bytes();
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, tag, topology_.comm());
  }

  std::optional<Region> look() override {
    int arrived = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, tag, topology_.comm(), &arrived, &message, &status);
    if (arrived == 0) return std::nullopt;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Region region = member_.allocate(static_cast<std::size_t>(count));
    MPI_Mrecv(region.bytes().data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    return region;
  }

  void nap() override { sched_yield(); }

 private:
  static constexpr int tag = 3;
  const Topology& topology_;
  Member& member_;
};

}  // namespace

std::unique_ptr<Wire> make_wire(Travel travel, const Topology& topology, Member& member) {
  if (travel == Travel::udp) return std::make_unique<Datagrams>(topology, member);
  return std::make_unique<MpiWire>(topology, member);
}

}  // namespace roundtrip::ring
