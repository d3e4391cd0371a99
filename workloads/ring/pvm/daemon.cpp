#include "ring/pvm/daemon.hpp"

#include <arpa/inet.h>
#include <mpi.h>
#include <pvm3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "core/failure.hpp"
#include "ring/udp_socket.hpp"

namespace roundtrip::ring {
namespace {

/// IPv4 address of an interface; empty if all ranks are in one node, where none is needed.
std::string address_of(const Topology& topology) {
  std::string text;
  topology.session().agree([&] {
    if (topology.one_node()) return;
    const UdpSocket socket(topology.interface());
    std::array<char, INET_ADDRSTRLEN> digits{};
    inet_ntop(AF_INET, &socket.address().sin_addr, digits.data(), digits.size());
    text = digits.data();
  });
  return text;
}

/// Collective: the string of rank 0 of `comm`, up to 4095 bytes.
std::string from_first(const std::string& mine, MPI_Comm comm) {
  std::array<char, 4096> bytes{};
  mine.copy(bytes.data(), bytes.size() - 1);
  MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, 0, comm);
  return bytes.data();
}

/// The words of an order of the first daemon to start another: `pvmd -S ... -nADDRESS ...`.
std::vector<std::string> words_of(const std::string& order) {
  std::istringstream stream(order);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Waits until `done()`, at most `patience`.
template <class Done>
void await(Done done) {
  constexpr std::chrono::milliseconds nap{10};
  constexpr std::chrono::milliseconds patience{10000};
  for (std::chrono::milliseconds waited{0}; !done() && waited < patience; waited += nap) {
    std::this_thread::sleep_for(nap);
  }
}

/// Barrier with a time-out: a rank that failed does not arrive.
void meet(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  int all = 0;
  await([&] {
    MPI_Test(&request, &all, MPI_STATUS_IGNORE);
    return all != 0;
  });
}

}  // namespace

PvmDaemon::PvmDaemon(MPI_Comm comm) : comm_(comm) {
  setenv("PVM_ROOT", pvm_root().c_str(), 1);
  setenv("PVM_ALLOW_ROOT", "1", 1);
}

PvmDaemon::PvmDaemon(const Topology& topology) : PvmDaemon(topology.comm()) {
  start(topology);
  enrol(topology);
}

/// A daemon that ends sends SIGTERM to all tasks whose exit it has not yet noticed, and makes the
/// daemons of other nodes do so.
PvmDaemon::~PvmDaemon() {
  if (mine_ >= 0) pvm_exit();
  const auto usual = std::signal(SIGTERM, SIG_IGN);
  meet(comm_);
  daemon_.reset();
  meet(comm_);
  std::signal(SIGTERM, usual);
}

/// The daemon of rank 0 prints an order to start each other daemon, and reads its answer.
void PvmDaemon::start(const Topology& topology) {
  const Session& session = topology.session();
  const bool first = topology.rank() == 0;
  const std::string address = address_of(topology);
  std::vector<std::string> hosts = session.gather(topology.member() == 0 ? address : "");
  std::erase(hosts, "");
  session.agree([&] {
    if (first) daemon_.emplace(hosts);
  });
  nodes_ = std::max(1, static_cast<int>(hosts.size()));
  MPI_Bcast(&nodes_, 1, MPI_INT, 0, topology.comm());
  for (int node = 1; node < nodes_; ++node) {
    std::string order;
    session.agree([&] {
      if (first) order = daemon_->listen();
    });
    const std::vector<std::string> words = words_of(from_first(order, topology.comm()));
    std::string answer;
    session.agree([&] {
      if (topology.member() != 0 || std::ranges::count(words, "-n" + address) == 0) return;
      daemon_.emplace(words);
      answer = daemon_->listen();
    });
    const std::vector<std::string> answers = session.gather(answer);
    session.agree([&] {
      if (!first) return;
      const auto given = std::ranges::find_if(answers, [](const auto& a) { return !a.empty(); });
      if (given == answers.end()) throw Failure(Exit::usage, "pvm: no node has the address asked");
      daemon_->tell(*given);
    });
  }
  std::string folder;
  session.agree([&] {
    if (daemon_) folder = daemon_->listen();
  });
  setenv("PVM_TMP", from_first(folder, topology.node()).c_str(), 1);
}

/// Returns once all daemons know each other: messages to an unknown daemon are lost.
void PvmDaemon::enrol(const Topology& topology) {
  topology.session().agree([&] {
    mine_ = pvm_mytid();
    if (mine_ < 0) throw Failure(Exit::usage, "pvm: the daemon does not answer");
    pvm_setopt(PvmRoute, PvmRouteDirect);
    int known = 0;
    await([&] { return pvm_config(&known, nullptr, nullptr) != 0 || known >= nodes_; });
    if (known < nodes_) {
      throw Failure(Exit::usage, "pvm: of " + std::to_string(nodes_) + " daemons only " +
                                     std::to_string(known) + " found each other");
    }
  });
  tasks_.resize(static_cast<std::size_t>(topology.size()));
  MPI_Allgather(&mine_, 1, MPI_INT, tasks_.data(), 1, MPI_INT, topology.comm());
}

}  // namespace roundtrip::ring
