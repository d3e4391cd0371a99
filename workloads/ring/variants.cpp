#include "ring/cache_line.hpp"
#include "ring/message_ports.hpp"
#include "ring/region_port.hpp"
#include "ring/token.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

std::optional<std::string> unless_one_node(const Circle& circle) {
  if (circle.one_node()) return std::nullopt;
  return "needs all ranks in one node, they are " + circle.shape();
}

std::vector<Variant> mpi_variants() {
  const Variant cache_line{.name = "cache-line",
                           .obstacle = unless_one_node,
                           .make = [](const Circle& circle, std::size_t, std::size_t) {
                             return std::make_unique<CacheLineProbe>(circle);
                           }};
  return {cache_line,
          variant<RegionPort>("region"),
          variant<TwoSidedPort<Sending::standard>>("mpi"),
          variant<TwoSidedPort<Sending::synchronous>>("mpi-sync"),
          variant<TwoSidedPort<Sending::typed>>("mpi-typed"),
          variant<RmaPort>("mpi-rma"),
          variant<SharedWindowPort>("mpi-shm", unless_one_node)};
}

}  // namespace roundtrip::ring
