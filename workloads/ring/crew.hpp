#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ring/circle.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

/// All ranks doing the same laps: rank 0 says which, the others follow. Whatever any rank finds
/// wrong after laps ends the run on all of them, with the same Failure(wrong_data). A rank that
/// fails in the middle of a lap says why and ends all processes.
class Crew {
 public:
  /// Collective. An arm is a transport of `variants` under its name, or with every byte read, which
  /// is an arm of its own of the same transport and token.
  Crew(const Circle& circle, const std::vector<Variant>& variants, std::size_t most,
       std::size_t heap);

  [[nodiscard]] std::size_t arms() const { return arms_.size(); }
  [[nodiscard]] const std::string& name(std::size_t arm) const { return arms_[arm].name; }
  /// Whether every rank reads every byte of the token.
  [[nodiscard]] bool reads(std::size_t arm) const { return arms_[arm].read; }

  /// Rank 0: from now on the token of this arm has so many bytes.
  void begin(std::size_t arm, std::size_t bytes);
  /// Rank 0: the arm's token does these laps (`count` is filled in). Seconds as in LapsSeen.
  std::vector<double> run(std::size_t arm, Laps laps);
  /// Rank 0: adds what is worth knowing about each transport to `record`.
  void describe(nlohmann::ordered_json& record);
  /// Rank 0: the others may leave.
  void stop();

  /// Other ranks: do what rank 0 says until it says stop.
  void follow();

 private:
  struct Arm {
    std::string name;
    std::size_t transport = 0;
    bool read = false;
  };
  /// Of a transport.
  struct Token {
    std::size_t bytes = 0;
    std::uint64_t passes = 0;  ///< that it has made
    std::uint64_t sum = 0;     ///< rank 0: what its words add up to
  };

  void begin_here(std::size_t arm, std::size_t bytes);
  LapsSeen run_here(std::size_t arm, const Laps& laps);
  void describe_here(nlohmann::ordered_json& record) const;
  void require_right(std::size_t arm, const LapsSeen& seen) const;

  const Circle& circle_;
  std::vector<Arm> arms_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Token> tokens_;  ///< of each transport
};

}  // namespace roundtrip::ring
