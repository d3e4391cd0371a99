#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

namespace roundtrip::npb {

/// Kind of a call, independent of its name: a message may be sent by MPI_Send, MPI_Isend, ...
enum class Kind : std::uint8_t {
  message,  ///< to another rank
  itself,   ///< to the sending rank
  all_reduce,
  reduce,
  broadcast,
  all_to_all,    ///< bytes: to each rank
  all_to_all_v,  ///< bytes: to all other ranks together
  gather,
  barrier,
};
inline constexpr std::array kind_names = {"message",      "itself",    "all_reduce",
                                          "reduce",       "broadcast", "all_to_all",
                                          "all_to_all_v", "gather",    "barrier"};

void count_message(int count, MPI_Datatype type, int to, MPI_Comm comm);
void count_collective(Kind kind, int count, MPI_Datatype type);
void count_all_to_all_v(const int* counts, MPI_Datatype type, MPI_Comm comm);

/// Reports a call of MPI_Wtime, of MPI_Pcontrol.
void count_clock();
void count_mark(int level);

/// Collective: writes the counts to the file named by MESSAGE_PROFILE.
void write_counts();

}  // namespace roundtrip::npb
