#include "ddtbench/arm.hpp"

#include <array>

#include "core/clock.hpp"
#include "ddtbench/proof.hpp"

namespace roundtrip::ddtbench {

const std::string& name_of(Buffering buffering) {
  static const std::array<std::string, 3> names = {"original", "same", "cold"};
  return names.at(static_cast<std::size_t>(buffering));
}

std::optional<std::string> MethodArm::verify() {
  method_->create();
  const auto word = prove(*method_, memory_.ends(), memory_.collective(), memory_.next_seed());
  method_->destroy();
  result_.discarded += 1;
  return fault(word);
}

Timing MethodArm::time(const Repetitions& repetitions) {
  const double start = now();
  memory_.shuffle();
  const auto warm = static_cast<int>(repetitions.warm);
  const auto timed = static_cast<int>(repetitions.timed);
  Samples unkept;
  Samples& samples = repetitions.each ? result_.samples : unkept;
  const std::size_t before = samples.communication.size();
  const auto word = exchange(samples, warm, timed);
  Timing timing{.seconds = {}, .fault = fault(word)};
  if (repetitions.each) {
    result_.inner = timed;
    result_.discarded += warm;
  } else {
    result_.discarded += warm + timed;
  }
  if (memory_.ends().rank != 0) return timing;
  if (!repetitions.each) timing.seconds = {now() - start};
  for (std::size_t i = before; repetitions.each && i < samples.communication.size(); ++i) {
    timing.seconds.push_back(samples.round_trip(i));
  }
  return timing;
}

TimingFacts MethodArm::facts() const {
  if (result_.buffering == Buffering::original) return {};
  return {.synchronisation = memory_.collective() ? "barrier" : "message",
          .cache = result_.buffering == Buffering::cold ? "flushed" : "warm"};
}

/// Runs one outer iteration. Returns the index of the first received word that is wrong.
std::optional<std::size_t> MethodArm::exchange(Samples& samples, int warm, int timed) {
  const Ends& ends = memory_.ends();
  const unsigned seed = memory_.next_seed();
  Transfer transfer;
  std::optional<std::size_t> word;
  Outer outer{.warm = warm, .inner = timed, .before = {}, .after = {}, .between = {}};
  outer.before = [&] {
    // `memory_` has the app's regions; only the method `reference` has its own.
    transfer = result_.method->moves_data ? memory_.data() : method_->transfer();
    ddtbench::prepare(transfer, ends, memory_.collective(), seed);
  };
  outer.after = [&] { word = check(transfer, ends, memory_.collective(), seed); };
  if (result_.buffering != Buffering::original) {
    outer.between = [&] { memory_.level(result_.buffering == Buffering::cold); };
  }
  measure(*method_, *result_.method, ends, memory_.collective(), outer, samples);
  return word;
}

std::optional<std::string> MethodArm::fault(std::optional<std::size_t> word) const {
  if (!word) return std::nullopt;
  int element_bytes = 1;
  MPI_Type_size(memory_.element(), &element_bytes);
  const std::size_t words = static_cast<std::size_t>(element_bytes) / sizeof(std::uint32_t);
  return item_.app + " of " + std::to_string(item_.bytes) + " bytes, method " + name() +
         ", buffers " + name_of(result_.buffering) + ", element " + std::to_string(*word / words) +
         " at rank " + std::to_string(memory_.ends().rank);
}

}  // namespace roundtrip::ddtbench
