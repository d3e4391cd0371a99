#include "ring/peer_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "core/failure.hpp"

namespace roundtrip::ring {
namespace {

/// A pidfd, readable once the process has ended; -1, which poll() ignores, in old kernels.
int open_process(int process) {
  return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

}  // namespace

PeerWatch::PeerWatch(const Topology& topology)
    : memory_(topology, sizeof(Peer) * static_cast<std::size_t>(topology.members())),
      peers_(reinterpret_cast<Peer*>(memory_.data())),
      self_(new (peers_ + topology.member()) Peer) {
  self_->rank = topology.rank();
  self_->process = getpid();
  MPI_Barrier(topology.node());
  for (int member = 0; member < topology.members(); ++member) {
    files_.push_back(member == topology.member() ? -1 : open_process(peers_[member].process));
  }
  files_.push_back(eventfd(0, EFD_CLOEXEC));
  MPI_Barrier(topology.node());
  thread_ = std::thread([this] { watch(); });
}

PeerWatch::~PeerWatch() {
  self_->leaving = true;
  eventfd_write(files_.back(), 1);
  thread_.join();
  for (const int file : files_) {
    if (file >= 0) close(file);
  }
}

void PeerWatch::watch() const {
  std::vector<pollfd> watched;
  for (const int file : files_) watched.push_back({.fd = file, .events = POLLIN, .revents = 0});
  while (true) {
    if (poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched.back().revents != 0) return;
    for (std::size_t i = 0; i + 1 < watched.size(); ++i) {
      if (watched[i].revents == 0) continue;
      watched[i].fd = -1;
      if (peers_[i].leaving) continue;
      std::fprintf(stderr, "ring: rank %d (process %d) has died: rank %d gives up\n",
                   peers_[i].rank.load(), peers_[i].process.load(), self_->rank.load());
      // Not MPI_Abort, which would need thread support of MPI; the launcher ends the others.
      _exit(static_cast<int>(Exit::internal));
    }
  }
}

}  // namespace roundtrip::ring
