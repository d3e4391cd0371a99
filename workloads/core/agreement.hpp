#pragma once

#include <mpi.h>

#include <functional>
#include <string>

namespace roundtrip {

/// Collective over `comm`: runs `part` and waits, without spinning, until all ranks have run it. If
/// any threw a Failure (or lacked memory), every rank then throws the one of the highest exit
/// status, lowest rank first. `part` must not throw while another rank waits in it for this rank.
void agree(MPI_Comm comm, const std::function<void()>& part);

/// Collective over `comm`: the text of rank `from`, on every rank.
std::string broadcast(MPI_Comm comm, std::string text, int from);

/// Collective over `comm`: calls `question` on rank 0 only; returns its answer on every rank.
bool decide(MPI_Comm comm, const std::function<bool()>& question);

}  // namespace roundtrip
