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

/// Preparation of memory before each exchange.
enum class Buffering {
  original,  ///< none, as in DDTBench: ping-pong with packing sends and receives in one buffer
  same,      ///< both ends rewrite their send memory and read their receive memory
  cold       ///< as `same`, then both ends evict this memory from their caches
};

/// All bufferings.
inline constexpr std::array bufferings = {Buffering::original, Buffering::same, Buffering::cold};

/// The name: `original`, `same` or `cold`.
const std::string& name_of(Buffering buffering);

/// Results of one method with one buffering.
struct ArmResult {
  Buffering buffering = Buffering::original;
  const MethodInfo* method = nullptr;
  Samples samples = {};       ///< on rank 0; empty if the MPI library refused
  int inner = 0;              ///< exchanges in each outer iteration
  int discarded = 0;          ///< exchanges without recorded times
  PointResult point = {};     ///< of the round trip, on rank 0
  bool skips_unpack = false;  ///< data is received in its final place
  std::optional<Finding> finding = std::nullopt;
};

/// Measures a method with a buffering. A repetition is an exchange, a batch is an outer iteration
/// of the study. All times are rank 0's.
class MethodArm final : public Arm {
 public:
  /// References must outlive the arm, which adds to `result`.
  MethodArm(const Case& item, Memory& memory, std::unique_ptr<Method> method, ArmResult& result)
      : item_(item), memory_(memory), method_(std::move(method)), result_(result) {}

  [[nodiscard]] std::string name() const override { return std::string(result_.method->name); }
  std::optional<std::string> verify() override;
  /// With `repetitions.each`: times each exchange and keeps its epochs. Otherwise keeps no epochs
  /// and returns the duration of the whole call, untimed parts included.
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
