#include "ring/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "core/failure.hpp"

namespace roundtrip::ring {
namespace {

/// All processors that some rank of the node may use.
cpu_set_t processors_of(MPI_Comm node) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  cpu_set_t all;
  MPI_Allreduce(&mine, &all, sizeof mine, MPI_BYTE, MPI_BOR, node);
  return all;
}

cpu_set_t first_of(const cpu_set_t& set, int count) {
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&chosen) < count; ++cpu) {
    if (CPU_ISSET(cpu, &set)) CPU_SET(cpu, &chosen);
  }
  return chosen;
}

}  // namespace

Topology::Topology(const Session& session, const std::vector<int>& pretended, int processors,
                   std::string interface)
    : session_(session), pretended_(!pretended.empty()), interface_(std::move(interface)) {
  session.agree([&] {
    if (pretended_ && pretended.size() != static_cast<std::size_t>(session.size())) {
      throw Failure(Exit::usage, "--pretend-nodes: names " + std::to_string(pretended.size()) +
                                     " ranks, started with " + std::to_string(session.size()));
    }
  });
  MPI_Comm_dup(session.world(), &comm_);
  MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &node_);
  confine(processors);
  if (pretended_) {
    MPI_Comm machine = node_;
    MPI_Comm_split(machine, pretended[static_cast<std::size_t>(rank())], rank(), &node_);
    MPI_Comm_free(&machine);
  }
  int member = 0;
  MPI_Comm_rank(node_, &member);
  MPI_Comm_size(node_, &members_);
  int lowest = rank();
  MPI_Bcast(&lowest, 1, MPI_INT, 0, node_);
  node_of_.resize(static_cast<std::size_t>(size()));
  member_of_.resize(node_of_.size());
  MPI_Allgather(&lowest, 1, MPI_INT, node_of_.data(), 1, MPI_INT, comm_);
  MPI_Allgather(&member, 1, MPI_INT, member_of_.data(), 1, MPI_INT, comm_);
}

Topology::~Topology() {
  MPI_Comm_free(&node_);
  MPI_Comm_free(&comm_);
}

void Topology::confine(int processors) {
  cpu_set_t all = processors_of(node_);
  session_.agree([&] {
    if (CPU_COUNT(&all) < processors) {
      throw Failure(Exit::usage, "--processors: the ranks of a node may use only " +
                                     std::to_string(CPU_COUNT(&all)) + " processors");
    }
    if (processors == 0) return;
    all = first_of(all, processors);
    if (sched_setaffinity(0, sizeof all, &all) != 0) {
      throw Failure(Exit::usage, "--processors: the system does not let ranks choose processors");
    }
  });
  processors_ = CPU_COUNT(&all);
  int ranks = 0;
  MPI_Comm_size(node_, &ranks);
  // A rank that spins delays a rank that needs the same processor.
  const int here = ranks > processors_ ? 1 : 0;
  int anywhere = 0;
  MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, comm_);
  crowded_ = anywhere != 0;
  if (here != 0) wait_ = {.spins = 0, .yields = 20, .network_yields = {}};
}

std::optional<int> Topology::member(int rank) const {
  const auto other = static_cast<std::size_t>(rank);
  if (node_of_[other] != node_of_[static_cast<std::size_t>(this->rank())]) return std::nullopt;
  return member_of_[other];
}

std::string Topology::shape() const {
  constexpr std::size_t listed = 16;  // nodes: the name of a case has at most 200 characters
  std::vector<int> seen;
  std::vector<std::ptrdiff_t> ranks;
  for (const int node : node_of_) {
    if (std::ranges::find(seen, node) != seen.end()) continue;
    seen.push_back(node);
    ranks.push_back(std::ranges::count(node_of_, node));
  }
  const bool together = ranks.size() > listed;
  std::string text;
  for (auto node = ranks.begin(); node != ranks.end();) {
    const auto first = node++;
    while (together && node != ranks.end() && *node == *first) ++node;
    if (!text.empty()) text += '+';
    if (together) text += std::to_string(node - first) + 'x';
    text += std::to_string(*first);
  }
  return text;
}

int Topology::shared_passes() const {
  int count = 0;
  for (std::size_t i = 0; i < node_of_.size(); ++i) {
    if (node_of_[i] == node_of_[(i + 1) % node_of_.size()]) ++count;
  }
  return count;
}

}  // namespace roundtrip::ring
