#include "ring/crew.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/failure.hpp"

namespace roundtrip::ring {
namespace {

enum Kind : std::int64_t { stop_order, begin_order, laps_order, describe_order };

/// What rank 0 says: kind, arm, then bytes, or warm, timed, closing, count, verify, each and sum.
using Order = std::array<std::int64_t, 9>;

void broadcast(Order& order, const Circle& circle) {
  MPI_Bcast(order.data(), static_cast<int>(order.size()), MPI_INT64_T, 0, circle.session().world());
}

}  // namespace

Crew::Crew(const Circle& circle, const std::vector<Variant>& variants, std::size_t most,
           std::size_t heap)
    : circle_(circle), tokens_(variants.size()) {
  for (const Variant& variant : variants) {
    arms_.push_back({.name = variant.name, .transport = transports_.size()});
    if (variant.read && circle.one_node()) {
      arms_.push_back(
          {.name = variant.name + "-read", .transport = transports_.size(), .read = true});
    }
    transports_.push_back(variant.make(circle, most, heap));
  }
}

void Crew::begin(std::size_t arm, std::size_t bytes) {
  Order order{begin_order, static_cast<std::int64_t>(arm), static_cast<std::int64_t>(bytes)};
  broadcast(order, circle_);
  begin_here(arm, bytes);
}

std::vector<double> Crew::run(std::size_t arm, Laps laps) {
  Token& token = tokens_[arms_[arm].transport];
  laps.count = token.passes;
  laps.sum = token.sum;
  laps.read = arms_[arm].read && !laps.verify;
  Order order{laps_order,
              static_cast<std::int64_t>(arm),
              laps.warm,
              laps.timed,
              laps.closing,
              static_cast<std::int64_t>(laps.count),
              static_cast<std::int64_t>(laps.verify),
              static_cast<std::int64_t>(laps.each),
              static_cast<std::int64_t>(laps.sum)};
  broadcast(order, circle_);
  const std::int64_t all = laps.warm + laps.timed + laps.closing + (laps.verify ? 1 : 0);
  token.passes += static_cast<std::uint64_t>(all * circle_.size());
  const LapsSeen seen = run_here(arm, laps);
  if (laps.verify || laps.read) token.sum = seen.sum;
  return seen.seconds;
}

void Crew::describe(nlohmann::ordered_json& record) {
  Order order{describe_order};
  broadcast(order, circle_);
  describe_here(record);
}

void Crew::stop() {
  Order order{stop_order};
  broadcast(order, circle_);
}

void Crew::follow() {
  Order order{};
  while (true) {
    broadcast(order, circle_);
    const auto arm = static_cast<std::size_t>(order[1]);
    if (order[0] == stop_order) return;
    if (order[0] == describe_order) {
      nlohmann::ordered_json not_kept;
      describe_here(not_kept);
    } else if (order[0] == begin_order) {
      begin_here(arm, static_cast<std::size_t>(order[2]));
    } else {
      run_here(arm, {.warm = order[2],
                     .timed = order[3],
                     .closing = order[4],
                     .count = static_cast<std::uint64_t>(order[5]),
                     .verify = order[6] != 0,
                     .each = order[7] != 0,
                     .read = reads(arm) && order[6] == 0,
                     .sum = static_cast<std::uint64_t>(order[8])});
    }
  }
}

void Crew::begin_here(std::size_t arm, std::size_t bytes) {
  const std::size_t transport = arms_[arm].transport;
  tokens_[transport].bytes = bytes;
  circle_.session().agree([&] { transports_[transport]->begin(bytes); });
}

LapsSeen Crew::run_here(std::size_t arm, const Laps& laps) {
  LapsSeen seen;
  try {
    seen = transports_[arms_[arm].transport]->run(laps);
  } catch (const Failure& failure) {
    // The others wait for the token and cannot be told.
    std::fprintf(stderr, "ring: transport %s, %zu bytes, at rank %d: %s\n", name(arm).c_str(),
                 tokens_[arms_[arm].transport].bytes, circle_.rank(), failure.what());
    MPI_Abort(circle_.session().world(), static_cast<int>(failure.code()));
  }
  require_right(arm, seen);
  return seen;
}

void Crew::describe_here(nlohmann::ordered_json& record) const {
  for (const auto& transport : transports_) transport->describe(record);
}

void Crew::require_right(std::size_t arm, const LapsSeen& seen) const {
  const int mine = seen.fault ? 1 : 0;
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, circle_.session().world());
  if (any == 0) return;
  circle_.session().agree([&] {
    if (!seen.fault) return;
    throw Failure(Exit::wrong_data, "wrong data: transport " + name(arm) + ", " +
                                        std::to_string(tokens_[arms_[arm].transport].bytes) +
                                        " bytes, at rank " + std::to_string(circle_.rank()) + ": " +
                                        *seen.fault);
  });
}

}  // namespace roundtrip::ring
