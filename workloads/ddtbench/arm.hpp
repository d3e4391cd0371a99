#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "core/arm.hpp"
#include "core/point.hpp"
#include "ddtbench/admission.hpp"
#include "ddtbench/catalogue.hpp"
#include "ddtbench/measure.hpp"
#include "ddtbench/memory.hpp"

namespace roundtrip::ddtbench {

/// What happens to memory between exchanges.
enum class Buffering {
  original,  ///< nothing, as in DDTBench: packing sends from the buffer that it receives into
  same,      ///< before each exchange both ends rewrite what they may send and read what they may
             ///< receive
  cold       ///< the same, and then both ends push it out of their caches
};

/// All of them.
inline constexpr std::array bufferings = {Buffering::original, Buffering::same, Buffering::cold};

/// `original`, `same`, `cold`.
const std::string& name_of(Buffering buffering);

/// One method with one buffering, measured.
struct ArmResult {
  Buffering buffering = Buffering::original;
  const MethodInfo* method = nullptr;
  Samples samples = {};       ///< at rank 0; none if the MPI library refused
  int inner = 0;              ///< exchanges in each outer iteration
  int discarded = 0;          ///< exchanges that were not kept
  PointResult point = {};     ///< of the round trip, at rank 0
  bool skips_unpack = false;  ///< data is received in its final place
  std::optional<Finding> finding = std::nullopt;
};

/// A method with a buffering under measurement. A repetition is an exchange, a batch an outer
/// iteration of the study. All times are rank 0's.
class MethodArm final : public Arm {
 public:
  /// All arguments outlive the arm, which adds to `result`.
  MethodArm(const Case& item, Memory& memory, std::unique_ptr<Method> method, ArmResult& result)
      : item_(item), memory_(memory), method_(std::move(method)), result_(result) {}

  [[nodiscard]] std::string name() const override { return std::string(result_.method->name); }
  std::optional<std::string> verify() override;
  /// With `repetitions.each`: times each exchange and keeps its epochs. Otherwise keeps nothing and
  /// returns the duration of the whole call, including what is not timed.
  Timing time(const Repetitions& repetitions) override;
  [[nodiscard]] TimingFacts facts() const override;
  [[nodiscard]] bool times_each() const override { return true; }

 private:
  std::optional<std::size_t> exchange(Samples& samples, int warm, int timed);
  [[nodiscard]] std::optional<std::string> fault(std::optional<std::size_t> word) const;

  const Case& item_;
  Memory& memory_;
  std::unique_ptr<Method> method_;
  ArmResult& result_;
};

}  // namespace roundtrip::ddtbench
