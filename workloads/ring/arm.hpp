#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/arm.hpp"
#include "ring/topology.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

/// A transport, and the token that it passes.
struct Carrier {
  std::string name;
  std::unique_ptr<Transport> transport;
  std::size_t bytes = 0;     ///< of the token
  std::uint64_t passes = 0;  ///< rank 0: number so far
  std::uint64_t sum = 0;     ///< rank 0: sum of the words of its body
};

/// A transport under measurement, timed at rank 0; a repetition is a lap. A rank that fails during
/// a lap reports the error and ends all ranks.
class RingArm final : public Arm {
 public:
  /// `read`: every rank reads every byte of the token; a separate arm, `<name>-read`, of the same
  /// transport and token. `closing`: untimed laps after each batch.
  RingArm(const Topology& topology, std::shared_ptr<Carrier> carrier, bool read,
          std::int64_t closing)
      : topology_(topology), carrier_(std::move(carrier)), read_(read), closing_(closing) {}

  [[nodiscard]] std::string name() const override {
    return carrier_->name + (read_ ? "-read" : "");
  }
  void prepare(std::int64_t bytes) override;
  std::optional<std::string> verify() override;
  Timing time(const Repetitions& repetitions) override;
  [[nodiscard]] TimingFacts facts() const override { return {}; }
  /// Not with `read`: single laps characterise the transport.
  [[nodiscard]] bool times_each() const override { return !read_; }

 private:
  LapsSeen run(Laps laps);
  [[nodiscard]] std::string place() const;

  const Topology& topology_;
  std::shared_ptr<Carrier> carrier_;
  bool read_;
  std::int64_t closing_;
};

/// Collective: the transports of `variants`, for tokens of up to `most` bytes; region transports
/// have comm heaps of `heap` bytes, 0: as large as needed.
std::vector<std::shared_ptr<Carrier>> make_carriers(const Topology& topology,
                                                    const std::vector<Variant>& variants,
                                                    std::size_t most, std::size_t heap);

}  // namespace roundtrip::ring
