#include "netpipe/pair.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/clock.hpp"
#include "core/failure.hpp"

namespace roundtrip::netpipe {
namespace {

constexpr int control_tag = 2;

enum Order : std::int64_t { stop_order, size_order, round_order };

/// Orders are one message: kind, argument (size, or number of batches), then the batches.
constexpr std::size_t head_length = 2;
constexpr std::size_t batch_length = 4;

/// A report is one message: for each batch two durations, then element (-1: none), got, expected.
constexpr std::size_t report_length = 5;

void send_order(Peer peer, const std::vector<std::int64_t>& order) {
  MPI_Send(order.data(), static_cast<int>(order.size()), MPI_INT64_T, peer.rank, control_tag,
           peer.comm);
}

}  // namespace

Pair::Pair(std::vector<Variant> variants, Peer peer, Mode mode, bool transmitter, Buffers& buffers)
    : variants_(std::move(variants)),
      peer_(peer),
      mode_(mode),
      transmitter_(transmitter),
      buffers_(buffers) {
  for (const Variant& variant : variants_) arms_.push_back(variant.make(peer));
}

void Pair::follow() {
  std::vector<std::int64_t> order(head_length + batch_length * arms_.size());
  std::vector<double> report;
  while (true) {
    MPI_Recv(order.data(), static_cast<int>(order.size()), MPI_INT64_T, peer_.rank, control_tag,
             peer_.comm, MPI_STATUS_IGNORE);
    if (order[0] == stop_order) return;
    if (order[0] == size_order) {
      buffers_.prepare(static_cast<std::size_t>(order[1]));
      continue;
    }
    report.clear();
    for (std::size_t i = 0; i < static_cast<std::size_t>(order[1]); ++i) {
      const std::int64_t* fields = &order[head_length + batch_length * i];
      const Result result = execute(
          {.arm = fields[0], .verify = fields[1], .warm = fields[2], .exchanges = fields[3]});
      const Mismatch mismatch = result.mismatch.value_or(Mismatch{});
      const double element = result.mismatch ? static_cast<double>(mismatch.element) : -1;
      report.insert(report.end(),
                    {result.checked_s, result.timed_s, element, static_cast<double>(mismatch.got),
                     static_cast<double>(mismatch.expected)});
    }
    MPI_Send(report.data(), static_cast<int>(report.size()), MPI_DOUBLE, peer_.rank, control_tag,
             peer_.comm);
  }
}

void Pair::begin_size(std::int64_t size) {
  send_order(peer_, {size_order, size});
  buffers_.prepare(static_cast<std::size_t>(size));
}

std::vector<Outcome> Pair::round(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> order = {round_order, static_cast<std::int64_t>(batches.size())};
  for (const Batch& batch : batches) {
    order.insert(order.end(), {batch.arm, batch.verify, batch.warm, batch.exchanges});
  }
  send_order(peer_, order);
  std::vector<Result> mine;
  mine.reserve(batches.size());
  for (const Batch& batch : batches) mine.push_back(execute(batch));

  std::vector<double> report(report_length * batches.size());
  MPI_Recv(report.data(), static_cast<int>(report.size()), MPI_DOUBLE, peer_.rank, control_tag,
           peer_.comm, MPI_STATUS_IGNORE);
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const double* fields = &report[report_length * i];
    Result theirs{.checked_s = fields[0], .timed_s = fields[1], .mismatch = {}};
    if (fields[2] >= 0) {
      theirs.mismatch = Mismatch{.element = static_cast<std::size_t>(fields[2]),
                                 .got = static_cast<unsigned char>(fields[3]),
                                 .expected = static_cast<unsigned char>(fields[4])};
    }
    require_right(batches[i], theirs, "receiver");
    require_right(batches[i], mine[i], "transmitter");
    // A stream is as fast as it arrives, not as it leaves.
    const double timed_s = mode_ == Mode::stream ? theirs.timed_s : mine[i].timed_s;
    outcomes.push_back({.seconds = batches[i].exchanges > 0
                                       ? timed_s
                                       : std::max(mine[i].checked_s, theirs.checked_s)});
  }
  return outcomes;
}

void Pair::stop() {
  send_order(peer_, {stop_order, 0});
}

Pair::Result Pair::execute(const Batch& batch) {
  const Arm& arm = *arms_[static_cast<std::size_t>(batch.arm)];
  Result result;
  if (batch.verify != 0) {
    const double start = now();
    result.mismatch = verify(arm);
    result.checked_s = now() - start;
  }
  if (batch.exchanges == 0) return result;
  if (batch.warm > 0) arm.batch(mode_, transmitter_, buffers_, batch.warm);
  if (buffers_.layout() == Layout::no_cache) buffers_.evict();
  synchronise();
  result.timed_s = arm.batch(mode_, transmitter_, buffers_, batch.exchanges);
  const bool receives = mode_ != Mode::stream || !transmitter_;
  if (receives && !result.mismatch) result.mismatch = buffers_.check_last(batch.exchanges);
  return result;
}

/// One exchange in slot 0 with receive buffers that hold nothing right before.
std::optional<Mismatch> Pair::verify(const Arm& arm) {
  synchronise();
  if (mode_ == Mode::bidirectional) {
    buffers_.poison_incoming();
    arm.exchange_one(buffers_);
    return buffers_.check_incoming();
  }
  std::optional<Mismatch> mismatch;
  if (transmitter_) {
    buffers_.fill_outgoing();
    arm.send_one(buffers_);
    if (mode_ == Mode::stream) return mismatch;
    buffers_.poison_incoming();
    arm.receive_one(buffers_);
    return buffers_.check_incoming();
  }
  buffers_.poison_incoming();
  arm.receive_one(buffers_);
  mismatch = buffers_.check_incoming();
  if (mode_ == Mode::pingpong) arm.send_one(buffers_);
  return mismatch;
}

/// The receiver says that it is ready; both are then about to start.
void Pair::synchronise() const {
  if (transmitter_) {
    MPI_Recv(nullptr, 0, MPI_BYTE, peer_.rank, control_tag, peer_.comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(nullptr, 0, MPI_BYTE, peer_.rank, control_tag, peer_.comm);
  }
}

void Pair::require_right(const Batch& batch, const Result& result, const char* end) const {
  if (!result.mismatch) return;
  const Mismatch& mismatch = *result.mismatch;
  throw Failure(Exit::wrong_data, "wrong data: variant " +
                                      variants_[static_cast<std::size_t>(batch.arm)].name +
                                      ", size " + std::to_string(buffers_.size()) +
                                      " bytes, element " + std::to_string(mismatch.element) +
                                      " at the " + end + ": got " + std::to_string(mismatch.got) +
                                      ", expected " + std::to_string(mismatch.expected));
}

}  // namespace roundtrip::netpipe
