// Counts the communication calls of a program's timed section: link it in, or preload it as a
// library.
//
// The timed section is between MPI_Pcontrol(1) and MPI_Pcontrol(0); without these calls, it is the
// section between two calls of MPI_Wtime with the most counted calls. At the end, rank 0 writes
// lines `<kind> <bytes> <calls>`, summed over all ranks, into the file named by MESSAGE_PROFILE.
// Calls from Fortran are counted with Open MPI, whose Fortran functions do not call C functions
// MPI_*.
#include "message_counter.hpp"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

namespace roundtrip::npb {
namespace {

class MessageCounter {
 public:
  void add(Kind kind, std::int64_t bytes) {
    ++calls_;
    ++now_[{kind, bytes}];
  }

  void clock_read() {
    if (!marked_) end_section();
  }

  void mark(int level) {
    if (level != 0) most_ = -1;
    marked_ = true;
    level != 0 ? clear() : end_section();
  }

  /// Collective.
  void write() const {
    const char* const path = std::getenv("MESSAGE_PROFILE");
    if (path == nullptr) return;
    std::vector<std::int64_t> mine;
    for (const auto& [what, calls] : section_) {
      mine.insert(mine.end(), {static_cast<std::int64_t>(what.first), what.second, calls});
    }
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> counts(static_cast<std::size_t>(size));
    std::vector<int> starts(counts.size());
    const int count = static_cast<int>(mine.size());
    PMPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (std::size_t r = 1; r < counts.size(); ++r) starts[r] = starts[r - 1] + counts[r - 1];
    std::vector<std::int64_t> all(static_cast<std::size_t>(starts.back() + counts.back()));
    PMPI_Gatherv(mine.data(), count, MPI_INT64_T, all.data(), counts.data(), starts.data(),
                 MPI_INT64_T, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    Section total;
    for (std::size_t i = 0; i + 2 < all.size(); i += 3) {
      total[{static_cast<Kind>(all[i]), all[i + 1]}] += all[i + 2];
    }
    std::ofstream file(path);
    for (const auto& [what, calls] : total) {
      file << kind_names.at(static_cast<std::size_t>(what.first)) << ' ' << what.second << ' '
           << calls << '\n';
    }
  }

 private:
  using Section = std::map<std::pair<Kind, std::int64_t>, std::int64_t>;

  void clear() {
    now_.clear();
    calls_ = 0;
  }

  void end_section() {
    if (calls_ > most_) {
      section_ = now_;
      most_ = calls_;
    }
    clear();
  }

  bool marked_ = false;
  Section now_;
  std::int64_t calls_ = 0;
  Section section_;
  std::int64_t most_ = -1;
};

MessageCounter& counter() {
  static MessageCounter only;
  return only;
}

std::int64_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return std::int64_t{size} * count;
}

}  // namespace

void count_message(int count, MPI_Datatype type, int to, MPI_Comm comm) {
  if (to == MPI_PROC_NULL) return;
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  counter().add(to == rank ? Kind::itself : Kind::message, bytes_of(count, type));
}

void count_collective(Kind kind, int count, MPI_Datatype type) {
  counter().add(kind, bytes_of(count, type));
}

void count_all_to_all_v(const int* counts, MPI_Datatype type, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  int others = 0;
  for (int r = 0; r < size; ++r) others += r == rank ? 0 : counts[r];
  counter().add(Kind::all_to_all_v, bytes_of(others, type));
}

void count_clock() {
  counter().clock_read();
}

void count_mark(int level) {
  counter().mark(level);
}

void write_counts() {
  counter().write();
}

}  // namespace roundtrip::npb
