#include "ring/arm.hpp"

#include <array>
#include <cstdio>

#include "core/failure.hpp"
#include "core/session.hpp"

namespace roundtrip::ring {

void RingArm::prepare(std::int64_t bytes) {
  carrier_->bytes = static_cast<std::size_t>(bytes);
  carrier_->transport->begin(carrier_->bytes);
}

std::optional<std::string> RingArm::verify() {
  return run({.verify = true}).fault;
}

Timing RingArm::time(const Repetitions& repetitions) {
  LapsSeen seen = run({.warm = repetitions.warm,
                       .timed = repetitions.timed,
                       .closing = closing_,
                       .each = repetitions.each,
                       .read = read_});
  if (topology_.rank() != 0) seen.seconds.clear();
  return {.seconds = std::move(seen.seconds), .fault = std::move(seen.fault)};
}

/// Rank 0 broadcasts the expected count and sum of the token.
LapsSeen RingArm::run(Laps laps) {
  const MPI_Comm world = topology_.session().world();
  std::array<std::uint64_t, 2> token = {carrier_->passes, carrier_->sum};
  MPI_Bcast(token.data(), static_cast<int>(token.size()), MPI_UINT64_T, 0, world);
  laps.count = token[0];
  laps.sum = token[1];
  const std::int64_t all = laps.warm + laps.timed + laps.closing + (laps.verify ? 1 : 0);
  carrier_->passes += static_cast<std::uint64_t>(all * topology_.size());
  LapsSeen seen;
  try {
    seen = carrier_->transport->run(laps);
  } catch (const Failure& failure) {
    // The other ranks wait for the token and cannot be notified.
    std::fprintf(stderr, "ring: %s: %s\n", place().c_str(), failure.what());
    end_all(failure.code());
  }
  if (laps.verify || laps.read) carrier_->sum = seen.sum;
  if (seen.fault) seen.fault = place() + ": " + *seen.fault;
  return seen;
}

std::string RingArm::place() const {
  return "transport " + name() + ", " + std::to_string(carrier_->bytes) + " bytes, at rank " +
         std::to_string(topology_.rank());
}

std::vector<std::shared_ptr<Carrier>> make_carriers(const Topology& topology,
                                                    const std::vector<Variant>& variants,
                                                    std::size_t most, std::size_t heap) {
  std::vector<std::shared_ptr<Carrier>> carriers;
  carriers.reserve(variants.size());
  for (const Variant& variant : variants) {
    carriers.push_back(std::make_shared<Carrier>(
        Carrier{.name = variant.name, .transport = variant.make(topology, most, heap)}));
  }
  return carriers;
}

}  // namespace roundtrip::ring
