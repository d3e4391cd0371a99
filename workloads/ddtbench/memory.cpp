#include "ddtbench/memory.hpp"

namespace roundtrip::ddtbench {

Memory::Memory(MicroApp& app, const Ends& ends, std::size_t bytes, bool shares,
               std::size_t evicted_bytes, unsigned seed)
    : app_(app),
      ends_(ends),
      collective_(app.collective()),
      bytes_(bytes),
      scratch_(evicted_bytes, 1),
      list_random_(seed + static_cast<unsigned>(ends.rank)),
      data_(regions()) {
  // MPI_Pack_size may return more than MPI_Pack fills.
  constexpr std::size_t margin = 4096;
  if (shares) shared_.emplace(2 * bytes + margin);
}

Transfer Memory::regions() const {
  return {.sent = app_.sent(), .received = app_.received(), .in_place = app_.in_place()};
}

void Memory::shuffle() {
  if (app_.shuffle(list_random_)) data_ = regions();
}

unsigned Memory::next_seed() {
  seed_ += 2 * static_cast<unsigned>(ends_.size);
  return seed_;
}

void Memory::level(bool evict) {
  data_.sent.rewrite();
  data_.received.read();
  Region out;
  Region in;
  out.add(shared_->out.data(), bytes_);
  in.add(shared_->in.data(), bytes_);
  out.rewrite();
  in.read();
  if (evict) walk();
  if (collective_) {
    MPI_Barrier(ends_.comm);
  } else if (ends_.rank == 0) {
    MPI_Recv(nullptr, 0, MPI_BYTE, ends_.peer(), 0, ends_.comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(nullptr, 0, MPI_BYTE, ends_.peer(), 0, ends_.comm);
  }
}

/// Fills the caches with other memory.
void Memory::walk() {
  constexpr std::size_t cache_line = 64;
  volatile char* scratch = scratch_.data();
  for (std::size_t i = 0; i < scratch_.size(); i += cache_line) {
    scratch[i] = static_cast<char>(scratch[i] + 1);
  }
}

}  // namespace roundtrip::ddtbench
