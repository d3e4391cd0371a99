#include <mpi.h>

#include <array>

#include "ring/cache_line.hpp"
#include "ring/message_ports.hpp"
#include "ring/region_port.hpp"
#include "ring/token.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

std::optional<std::string> unless_one_node(const Topology& topology) {
  if (topology.one_node()) return std::nullopt;
  return "needs all ranks in one node, they are " + topology.shape();
}

namespace {

/// Our datagrams are for several nodes and need the network interface between them.
std::optional<std::string> unless_interface(const Topology& topology) {
  if (topology.one_node()) return "needs ranks on several nodes, they are " + topology.shape();
  if (topology.interface().empty()) return "needs --interface, the network between the nodes";
  return std::nullopt;
}

/// Some combinations of MPI and network lack windows, which only a trial shows. Collective.
std::optional<std::string> unless_windows(const Topology& topology) {
  constexpr MPI_Aint bytes = 64;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(topology.comm(), &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Win window = MPI_WIN_NULL;
  char* base = nullptr;
  const int error = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &base, &window);
  int worst = error;
  MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MAX, comm);
  if (error == MPI_SUCCESS && worst == MPI_SUCCESS) MPI_Win_free(&window);
  MPI_Comm_free(&comm);
  if (worst == MPI_SUCCESS) return std::nullopt;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(worst, text.data(), &length);
  return "this MPI offers no windows over this network: MPI_Win_allocate: " +
         std::string(text.data());
}

}  // namespace

std::vector<Variant> mpi_variants() {
  const Variant cache_line{.name = "cache-line",
                           .obstacle = unless_one_node,
                           .make = [](const Topology& topology, std::size_t, std::size_t) {
                             return std::make_unique<CacheLineProbe>(topology);
                           }};
  return {without_mpi(cache_line),
          without_mpi(with_reading(variant<RegionPort<Travel::mpi>>("region"))),
          without_mpi(variant<RegionPort<Travel::udp>>("region-udp", unless_interface)),
          with_reading(variant<TwoSidedPort<Sending::standard>>("mpi")),
          variant<TwoSidedPort<Sending::synchronous>>("mpi-sync"),
          variant<TwoSidedPort<Sending::typed>>("mpi-typed"),
          variant<RmaPort>("mpi-rma", unless_windows),
          without_mpi(with_reading(variant<SharedWindowPort>("mpi-shm", unless_one_node)))};
}

}  // namespace roundtrip::ring
