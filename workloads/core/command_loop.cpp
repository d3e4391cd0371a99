#include "core/command_loop.hpp"

#include <utility>

#include "core/agreement.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"

namespace roundtrip {
namespace {

enum Kind : std::int64_t { stop_command, prepare_command, round_command };

/// A command is one message: its kind, the bytes, the number of batches, then the batches.
constexpr std::size_t head_length = 3;
constexpr std::size_t batch_length = 5;

std::vector<std::int64_t> command(Kind kind, std::int64_t bytes,
                                  const std::vector<Batch>& batches) {
  std::vector<std::int64_t> fields = {kind, bytes, static_cast<std::int64_t>(batches.size())};
  for (const Batch& batch : batches) {
    fields.insert(fields.end(), {static_cast<std::int64_t>(batch.arm), batch.verify ? 1 : 0,
                                 batch.warm, batch.timed, batch.each ? 1 : 0});
  }
  return fields;
}

std::vector<Batch> batches_of(const std::vector<std::int64_t>& command) {
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < static_cast<std::size_t>(command[2]); ++i) {
    const std::int64_t* const fields = &command[head_length + batch_length * i];
    batches.push_back({.arm = static_cast<std::size_t>(fields[0]),
                       .verify = fields[1] != 0,
                       .warm = fields[2],
                       .timed = fields[3],
                       .each = fields[4] != 0});
  }
  return batches;
}

std::size_t values(const Batch& batch) {
  return batch.each && batch.timed > 0 ? static_cast<std::size_t>(batch.timed) : 1;
}

}  // namespace

CommandLoop::CommandLoop(MPI_Comm comm, const Arms& arms)
    : comm_(comm), arms_(arms), length_(head_length + batch_length * arms.size()) {
  MPI_Comm_rank(comm, &rank_);
}

void CommandLoop::tell(Command command) {
  command.resize(length_);
  MPI_Bcast(command.data(), static_cast<int>(length_), MPI_INT64_T, 0, comm_);
}

void CommandLoop::prepare(const std::vector<std::size_t>& arms, std::int64_t bytes) {
  std::vector<Batch> batches;
  batches.reserve(arms.size());
  for (const std::size_t arm : arms) batches.push_back({.arm = arm});
  tell(command(prepare_command, bytes, batches));
  prepare_here(arms, bytes);
}

std::vector<std::vector<double>> CommandLoop::round(const std::vector<Batch>& batches) {
  tell(command(round_command, 0, batches));
  return round_here(batches);
}

void CommandLoop::stop() {
  tell({stop_command});
}

void CommandLoop::follow() {
  Command command(length_);
  while (true) {
    MPI_Bcast(command.data(), static_cast<int>(length_), MPI_INT64_T, 0, comm_);
    if (command[0] == stop_command) break;
    const std::vector<Batch> batches = batches_of(command);
    if (command[0] == prepare_command) {
      std::vector<std::size_t> arms;
      arms.reserve(batches.size());
      for (const Batch& batch : batches) arms.push_back(batch.arm);
      prepare_here(arms, command[1]);
    } else {
      round_here(batches);
    }
  }
}

void CommandLoop::prepare_here(const std::vector<std::size_t>& arms, std::int64_t bytes) {
  agree(comm_, [&] {
    for (const std::size_t arm : arms) arms_[arm]->prepare(bytes);
  });
}

std::vector<std::vector<double>> CommandLoop::round_here(const std::vector<Batch>& batches) {
  std::vector<double> all;
  for (const Batch& batch : batches) {
    const auto seconds = batch_here(batch);
    all.insert(all.end(), seconds.begin(), seconds.end());
  }
  reduce(all);
  std::vector<std::vector<double>> each;
  auto next = all.begin();
  for (const Batch& batch : batches) {
    const auto last = next + static_cast<std::ptrdiff_t>(values(batch));
    each.emplace_back(next, last);
    next = last;
  }
  return each;
}

/// Returns the same number of values on every rank.
std::vector<double> CommandLoop::batch_here(const Batch& batch) {
  Arm& arm = *arms_[batch.arm];
  double checked_s = 0;
  if (batch.verify) {
    const double start = now();
    note(arm.verify());
    checked_s = now() - start;
  }
  if (batch.timed == 0) return {checked_s};
  Timing timing = arm.time({.warm = batch.warm, .timed = batch.timed, .each = batch.each});
  note(std::move(timing.fault));
  timing.seconds.resize(values(batch));
  return timing.seconds;
}

/// Keeps the first fault.
void CommandLoop::note(std::optional<std::string> fault) {
  if (!fault_) fault_ = std::move(fault);
}

/// Elementwise maximum over the ranks, on every rank; throws if any rank received wrong data.
void CommandLoop::reduce(std::vector<double>& seconds) {
  seconds.push_back(fault_ ? rank_ + 1 : 0);
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                comm_);
  const int highest = static_cast<int>(seconds.back()) - 1;
  seconds.pop_back();
  if (highest < 0) return;
  throw Failure(Exit::wrong_data, "wrong data: " + broadcast(comm_, fault_.value_or(""), highest));
}

}  // namespace roundtrip
