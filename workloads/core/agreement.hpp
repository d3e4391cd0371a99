#pragma once

#include <mpi.h>

#include <functional>
#include <string>

namespace roundtrip {

/// Collective over `comm`: runs `part` here and waits, without spinning, until it is done on every
/// rank. A Failure (or lack of memory) of any rank is then thrown on all: that of the highest exit
/// status, lowest rank first. `part` must not leave another rank waiting for it when it throws.
void agree(MPI_Comm comm, const std::function<void()>& part);

/// Collective over `comm`: the text of rank `from`, on every rank.
std::string broadcast(MPI_Comm comm, std::string text, int from);

/// Collective over `comm`: rank 0's answer, on every rank. Only rank 0 asks.
bool decide(MPI_Comm comm, const std::function<bool()>& question);

}  // namespace roundtrip
