#include "npb/common/timed_section.hpp"

#include "core/clock.hpp"
#include "core/simulation.hpp"

namespace roundtrip::npb {
namespace {

/// Values of all ranks reduced to the root.
std::vector<double> reduced(const std::vector<double>& mine, MPI_Op operation, MPI_Comm comm) {
  std::vector<double> all(mine.size());
  MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, operation, 0,
             comm);
  return all;
}

/// Every rank's (pattern, size, number) triples, at the root.
std::vector<std::int64_t> gathered(const std::vector<std::int64_t>& mine, const Comm& comm) {
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(comm.size()));
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm.handle());
  std::vector<int> starts(counts.size());
  for (std::size_t i = 1; i < counts.size(); ++i) starts[i] = starts[i - 1] + counts[i - 1];
  std::vector<std::int64_t> all(static_cast<std::size_t>(starts.back() + counts.back()));
  MPI_Gatherv(mine.data(), count, MPI_INT64_T, all.data(), counts.data(), starts.data(),
              MPI_INT64_T, 0, comm.handle());
  return all;
}

}  // namespace

void TimedSection::start() {
  constexpr std::size_t many = 1024;  // so that lap() does not allocate
  laps_.clear();
  laps_.reserve(many);
  comm_.barrier();
  comm_.reset_traffic();
  mark_section(1);
  start_ = now();
  begin_ = {start_, {}};
}

void TimedSection::skip() {
  begin_ = {now(), comm_.traffic()};
}

void TimedSection::lap() {
  const Mark end{now(), comm_.traffic()};
  Mark& lap = laps_.emplace_back(end);
  lap.time -= begin_.time;
  for (std::size_t p = 0; p < patterns; ++p) {
    lap.traffic[p].seconds -= begin_.traffic[p].seconds;
    lap.traffic[p].messages -= begin_.traffic[p].messages;
    lap.traffic[p].bytes -= begin_.traffic[p].bytes;
  }
  begin_ = end;
}

void TimedSection::stop() {
  const double mine = now() - start_;
  mark_section(0);
  sizes_ = comm_.sizes();
  MPI_Allreduce(&mine, &seconds_, 1, MPI_DOUBLE, MPI_MAX, comm_.handle());
}

std::vector<Iteration> TimedSection::iterations() const {
  const std::size_t count = laps_.size();
  std::vector<double> durations;
  std::vector<double> sums;
  for (const Mark& lap : laps_) {
    durations.push_back(lap.time);
    sums.push_back(lap.time);
    for (const Traffic& traffic : lap.traffic) {
      sums.push_back(traffic.seconds);
      sums.push_back(static_cast<double>(traffic.messages));
      sums.push_back(static_cast<double>(traffic.bytes));
    }
  }
  durations = reduced(durations, MPI_MAX, comm_.handle());
  sums = reduced(sums, MPI_SUM, comm_.handle());
  if (!comm_.root()) return {};

  std::vector<Iteration> iterations(count);
  const double ranks = comm_.size();
  auto next = sums.begin();
  for (std::size_t i = 0; i < count; ++i) {
    Iteration& iteration = iterations[i];
    iteration.seconds = durations[i];
    iteration.compute = *next++ / ranks;
    for (Traffic& traffic : iteration.traffic) {
      traffic.seconds = *next++ / ranks;
      traffic.messages = static_cast<std::int64_t>(*next++);
      traffic.bytes = static_cast<std::int64_t>(*next++);
      iteration.compute -= traffic.seconds;
    }
  }
  return iterations;
}

std::vector<RankTime> TimedSection::rank_times() const {
  RankTime mine;
  for (const Mark& lap : laps_) {
    mine.compute += lap.time;
    for (const Traffic& traffic : lap.traffic) mine.communication += traffic.seconds;
  }
  mine.compute -= mine.communication;
  std::vector<RankTime> all(static_cast<std::size_t>(comm_.size()));
  MPI_Gather(&mine, 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, 0, comm_.handle());
  return all;
}

MessageSizes TimedSection::sizes() const {
  std::vector<std::int64_t> mine;
  for (std::size_t p = 0; p < patterns; ++p) {
    for (const auto& [bytes, messages] : sizes_[p]) {
      mine.insert(mine.end(), {static_cast<std::int64_t>(p), bytes, messages});
    }
  }
  const std::vector<std::int64_t> all = gathered(mine, comm_);
  MessageSizes total;
  for (std::size_t i = 0; i + 2 < all.size(); i += 3) {
    total[static_cast<std::size_t>(all[i])][all[i + 1]] += all[i + 2];
  }
  return total;
}

}  // namespace roundtrip::npb
