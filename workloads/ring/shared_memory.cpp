#include "ring/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/failure.hpp"

namespace roundtrip::ring {
namespace {

[[noreturn]] void fail(std::size_t bytes, int error) {
  throw Failure(Exit::usage, "cannot share " + std::to_string(bytes) +
                                 " bytes of memory between the ranks of a node: " +
                                 std::generic_category().message(error));
}

/// An open file, closed by the destructor.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// Creates a memory file with all its pages; returns its descriptor, or -errno.
int create(std::size_t bytes) {
  const int file = memfd_create("roundtrip-ring", MFD_CLOEXEC);
  if (file < 0) return -errno;
  // Allocate now: on first touch, lack of memory kills the process.
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) return file;
  close(file);
  return -error;
}

}  // namespace

SharedMemory::SharedMemory(const Topology& topology, std::size_t bytes) : bytes_(bytes) {
  topology.session().agree([&] { map(topology); });
}

/// The first rank of the node creates the file; all ranks open it through /proc.
void SharedMemory::map(const Topology& topology) {
  std::array<int, 2> origin{getpid(), 0};
  if (topology.member() == 0) origin[1] = create(bytes_);
  const OpenFile made(topology.member() == 0 ? origin[1] : -1);
  MPI_Bcast(origin.data(), 2, MPI_INT, 0, topology.node());
  if (origin[1] < 0) fail(bytes_, -origin[1]);
  const auto path = "/proc/" + std::to_string(origin[0]) + "/fd/" + std::to_string(origin[1]);
  const OpenFile file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const int error = file.number() < 0 ? errno : 0;
  MPI_Barrier(topology.node());  // before the first rank closes it
  if (error != 0) fail(bytes_, error);
  void* const address =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.number(), 0);
  if (address == MAP_FAILED) fail(bytes_, errno);
  data_ = static_cast<std::byte*>(address);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace roundtrip::ring
