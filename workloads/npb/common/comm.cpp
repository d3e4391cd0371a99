#include "npb/common/comm.hpp"

#include <algorithm>
#include <numeric>

#include "core/clock.hpp"

namespace roundtrip::npb {
namespace {

template <class T>
int length(std::span<T> data) {
  return static_cast<int>(data.size());
}

std::vector<int> displacements(std::span<const int> counts) {
  std::vector<int> starts(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  return starts;
}

std::size_t index(Pattern pattern) {
  return static_cast<std::size_t>(pattern);
}

}  // namespace

/// Adds the time of a scope to a pattern.
class Comm::Timed {
 public:
  Timed(Comm& comm, Pattern pattern)
      : seconds_(comm.traffic_[index(pattern)].seconds), start_(now()) {}
  ~Timed() { seconds_ += now() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& seconds_;
  double start_;
};

Comm::Comm(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

void Comm::count(Pattern pattern, std::int64_t bytes, std::int64_t messages) {
  traffic_[index(pattern)].messages += messages;
  traffic_[index(pattern)].bytes += messages * bytes;
  sizes_[index(pattern)][bytes] += messages;
}

void Comm::reset_traffic() {
  traffic_ = {};
  sizes_ = {};
}

void Comm::exchange(std::span<const double> out, int to, std::span<double> in, int from, int tag) {
  if (to == rank_ && from == rank_) {
    std::ranges::copy(out, in.begin());
    return;
  }
  const Timed timed(*this, Pattern::exchange);
  count(Pattern::exchange, static_cast<std::int64_t>(out.size_bytes()));
  MPI_Sendrecv(out.data(), length(out), MPI_DOUBLE, to, tag, in.data(), length(in), MPI_DOUBLE,
               from, tag, comm_, MPI_STATUS_IGNORE);
}

void Comm::start_receive(std::span<double> in, int from, int tag) {
  const Timed timed(*this, Pattern::exchange);
  MPI_Irecv(in.data(), length(in), MPI_DOUBLE, from, tag, comm_, &exchanges_.emplace_back());
}

void Comm::start_send(std::span<const double> out, int to, int tag) {
  const Timed timed(*this, Pattern::exchange);
  if (to != rank_) count(Pattern::exchange, static_cast<std::int64_t>(out.size_bytes()));
  MPI_Isend(out.data(), length(out), MPI_DOUBLE, to, tag, comm_, &exchanges_.emplace_back());
}

void Comm::finish_all() {
  if (exchanges_.empty()) return;
  const Timed timed(*this, Pattern::exchange);
  MPI_Waitall(static_cast<int>(exchanges_.size()), exchanges_.data(), MPI_STATUSES_IGNORE);
  exchanges_.clear();
}

void Comm::receive(std::span<double> in, int from, int tag) {
  const Timed timed(*this, Pattern::pipeline);
  MPI_Recv(in.data(), length(in), MPI_DOUBLE, from, tag, comm_, MPI_STATUS_IGNORE);
}

void Comm::send(std::span<const double> out, int to, int tag) {
  const Timed timed(*this, Pattern::pipeline);
  count(Pattern::pipeline, static_cast<std::int64_t>(out.size_bytes()));
  MPI_Send(out.data(), length(out), MPI_DOUBLE, to, tag, comm_);
}

void Comm::post_send(std::span<const double> out, int to, int tag) {
  const Timed timed(*this, Pattern::pipeline);
  count(Pattern::pipeline, static_cast<std::int64_t>(out.size_bytes()));
  MPI_Isend(out.data(), length(out), MPI_DOUBLE, to, tag, comm_, &sends_.emplace_back());
}

void Comm::finish_sends() {
  if (sends_.empty()) return;
  const Timed timed(*this, Pattern::pipeline);
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  sends_.clear();
}

void Comm::all_to_all(std::span<const double> out, std::span<double> in) {
  const Timed timed(*this, Pattern::transpose);
  const int block = length(out) / size_;
  count(Pattern::transpose, static_cast<std::int64_t>(sizeof(double)) * block, size_ - 1);
  MPI_Alltoall(out.data(), block, MPI_DOUBLE, in.data(), block, MPI_DOUBLE, comm_);
}

void Comm::all_to_all(std::span<const int> out, std::span<int> in) {
  const Timed timed(*this, Pattern::transpose);
  const int block = length(out) / size_;
  count(Pattern::transpose, static_cast<std::int64_t>(sizeof(int)) * block, size_ - 1);
  MPI_Alltoall(out.data(), block, MPI_INT, in.data(), block, MPI_INT, comm_);
}

void Comm::all_to_all(std::span<const int> out, std::span<const int> out_counts, std::span<int> in,
                      std::span<const int> in_counts) {
  const Timed timed(*this, Pattern::transpose);
  for (int other = 0; other < size_; ++other) {
    const auto bytes =
        static_cast<std::int64_t>(sizeof(int)) * out_counts[static_cast<std::size_t>(other)];
    if (other != rank_) count(Pattern::transpose, bytes);
  }
  const std::vector<int> out_starts = displacements(out_counts);
  const std::vector<int> in_starts = displacements(in_counts);
  MPI_Alltoallv(out.data(), out_counts.data(), out_starts.data(), MPI_INT, in.data(),
                in_counts.data(), in_starts.data(), MPI_INT, comm_);
}

void Comm::sum(std::span<double> values) {
  if (size_ == 1) return;
  const Timed timed(*this, Pattern::reduction);
  count(Pattern::reduction, static_cast<std::int64_t>(values.size_bytes()));
  MPI_Allreduce(MPI_IN_PLACE, values.data(), length(values), MPI_DOUBLE, MPI_SUM, comm_);
}

void Comm::sum(std::span<int> values) {
  if (size_ == 1) return;
  const Timed timed(*this, Pattern::reduction);
  count(Pattern::reduction, static_cast<std::int64_t>(values.size_bytes()));
  MPI_Allreduce(MPI_IN_PLACE, values.data(), length(values), MPI_INT, MPI_SUM, comm_);
}

double Comm::sum(double value) {
  sum(std::span(&value, 1));
  return value;
}

double Comm::max(double value) {
  if (size_ == 1) return value;
  const Timed timed(*this, Pattern::reduction);
  count(Pattern::reduction, sizeof value);
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm_);
  return value;
}

void Comm::sum_at_root(std::span<double> values) {
  if (size_ == 1) return;
  const Timed timed(*this, Pattern::reduction);
  count(Pattern::reduction, static_cast<std::int64_t>(values.size_bytes()));
  MPI_Reduce(root() ? MPI_IN_PLACE : values.data(), values.data(), length(values), MPI_DOUBLE,
             MPI_SUM, 0, comm_);
}

void Comm::sum_at_root(std::span<std::uint64_t> values) {
  if (size_ == 1) return;
  const Timed timed(*this, Pattern::reduction);
  count(Pattern::reduction, static_cast<std::int64_t>(values.size_bytes()));
  MPI_Reduce(root() ? MPI_IN_PLACE : values.data(), values.data(), length(values), MPI_UINT64_T,
             MPI_SUM, 0, comm_);
}

bool Comm::from_root(bool value) const {
  int flag = value ? 1 : 0;
  MPI_Bcast(&flag, 1, MPI_INT, 0, comm_);
  return flag != 0;
}

void Comm::barrier() const {
  MPI_Barrier(comm_);
}

}  // namespace roundtrip::npb
