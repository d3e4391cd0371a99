#include "netpipe/arm.hpp"

namespace roundtrip::netpipe {

void MessageArm::prepare(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (end_.buffers.size() != size) end_.buffers.prepare(size);
}

std::optional<std::string> MessageArm::verify() {
  return fault(verified());
}

/// One exchange in slot 0; the receive buffers hold only wrong data before.
std::optional<Mismatch> MessageArm::verified() {
  Buffers& buffers = end_.buffers;
  synchronise();
  if (end_.mode == Mode::bidirectional) {
    buffers.poison_incoming();
    exchange_one();
    return buffers.check_incoming();
  }
  if (end_.transmitter) {
    buffers.fill_outgoing();
    send_one();
    if (end_.mode == Mode::stream) return std::nullopt;
    buffers.poison_incoming();
    receive_one();
    return buffers.check_incoming();
  }
  buffers.poison_incoming();
  receive_one();
  const auto mismatch = buffers.check_incoming();
  if (end_.mode == Mode::pingpong) send_one();
  return mismatch;
}

Timing MessageArm::time(const Repetitions& repetitions) {
  Buffers& buffers = end_.buffers;
  if (repetitions.warm > 0) batch(repetitions.warm);
  if (buffers.layout() == Layout::no_cache) buffers.evict();
  synchronise();
  const double seconds = batch(repetitions.timed);
  const bool is_stream = end_.mode == Mode::stream;
  const bool receives = !is_stream || !end_.transmitter;
  const bool counts = end_.transmitter != is_stream;
  return {.seconds = {counts ? seconds : 0},
          .fault = receives ? fault(buffers.check_last(repetitions.timed)) : std::nullopt};
}

/// The receiver reports that it is ready; then both start.
void MessageArm::synchronise() const {
  constexpr int control_tag = 2;
  const auto [comm, rank] = end_.peer;
  if (end_.transmitter) {
    MPI_Recv(nullptr, 0, MPI_BYTE, rank, control_tag, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(nullptr, 0, MPI_BYTE, rank, control_tag, comm);
  }
}

std::optional<std::string> MessageArm::fault(const std::optional<Mismatch>& mismatch) const {
  if (!mismatch) return std::nullopt;
  return "variant " + name_ + ", size " + std::to_string(end_.buffers.size()) + " bytes, element " +
         std::to_string(mismatch->element) + " at the " +
         (end_.transmitter ? "transmitter" : "receiver") + ": got " +
         std::to_string(mismatch->got) + ", expected " + std::to_string(mismatch->expected);
}

}  // namespace roundtrip::netpipe
