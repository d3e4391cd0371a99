#include "ring/cooperation.hpp"

#include <sched.h>

#include <utility>

namespace roundtrip::ring {
namespace {

constexpr int tag = 3;

Layout layout(const Circle& circle, std::size_t most, std::size_t heap) {
  constexpr std::size_t regions = 2;
  return {.members = circle.members(),
          .cells = 1,
          .heap_bytes = heap != 0 ? heap : Heap::bytes_for(regions * most, regions)};
}

Member join(const Circle& circle, const SharedMemory& memory, const Layout& layout) {
  Space space(memory.data(), layout);
  if (circle.member() == 0) space.initialise();
  MPI_Barrier(circle.node());
  return {space, circle.member(), circle.wait()};
}

}  // namespace

Cooperation::Cooperation(const Circle& circle, std::size_t most, std::size_t heap)
    : circle_(circle),
      memory_(circle, Space::bytes(layout(circle, most, heap))),
      member_(join(circle, memory_, layout(circle, most, heap))),
      mine_{.member = circle.member(), .number = 0} {}

void Cooperation::send(int rank, Region& region) {
  const auto bytes = region.bytes();
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, tag, circle_.comm());
  Member::free(region);
  ++sent_;
}

/// Looks into the cell and among the messages in turn.
Region Cooperation::get_from_anywhere() {
  constexpr int looks = 16;  // into the cell, which is cheap, for each one among the messages
  for (int round = 0;; ++round) {
    for (int look = 0; look < looks; ++look) {
      if (auto region = member_.get(mine_, no_wait)) return std::move(*region);
    }
    int arrived = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, tag, circle_.comm(), &arrived, &message, &status);
    if (arrived != 0) {
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      Region region = member_.allocate(static_cast<std::size_t>(count));
      MPI_Mrecv(region.bytes().data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      return region;
    }
    if (round * looks >= circle_.wait().spins) sched_yield();
  }
}

}  // namespace roundtrip::ring
