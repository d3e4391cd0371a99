// Arms that advance a survey's clock by exactly the time that a test sets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "core/survey.hpp"
#include "core/testing/session.hpp"

namespace roundtrip {

inline double passed_s = 0;  ///< MPI_Wtime of survey_test.cpp adds it to real time

/// Calls of a fake arm.
struct Seen {
  std::vector<std::int64_t> prepared;  ///< bytes
  int verified = 0;
  std::int64_t timed = 0;  ///< repetitions
};

/// An arm that takes exactly the time that a test sets.
class FakeArm : public Arm {
 public:
  FakeArm(std::string name, Seen& seen, double start_s, double byte_s)
      : name_(std::move(name)), seen_(seen), start_s_(start_s), byte_s_(byte_s) {}

  [[nodiscard]] std::string name() const override { return name_; }
  void prepare(std::int64_t bytes) override {
    bytes_ = bytes;
    seen_.prepared.push_back(bytes);
  }
  std::optional<std::string> verify() override {
    ++seen_.verified;
    passed_s += one_s();
    return std::nullopt;
  }
  Timing time(const Repetitions& repetitions) override {
    seen_.timed += repetitions.timed;
    passed_s += one_s() * static_cast<double>(repetitions.warm + repetitions.timed);
    if (repetitions.each) {
      return {.seconds =
                  std::vector<double>(static_cast<std::size_t>(repetitions.timed), local(one_s()))};
    }
    return {.seconds = {local(one_s() * static_cast<double>(repetitions.timed))}};
  }
  [[nodiscard]] TimingFacts facts() const override {
    return {.clock = "each rank", .over_ranks = "maximum", .cache = name_};
  }
  [[nodiscard]] bool times_each() const override { return name_ == "fast"; }

 protected:
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] double one_s() const { return start_s_ + byte_s_ * static_cast<double>(bytes_); }
  /// The highest rank is the slowest.
  static double local(double seconds) {
    return seconds * (test_session().rank() + 1) / test_session().size();
  }

  std::string name_;
  Seen& seen_;
  double start_s_;
  double byte_s_;
  std::int64_t bytes_ = 0;
};

/// Receives wrong data from 100 bytes on, at all ranks but rank 0.
class WrongArm : public FakeArm {
 public:
  using FakeArm::FakeArm;
  std::optional<std::string> verify() override {
    FakeArm::verify();
    if (bytes() < 100 || test_session().root()) return std::nullopt;
    return "arm wrong, " + std::to_string(bytes()) + " bytes, at rank " +
           std::to_string(test_session().rank());
  }
};

/// Throws from `prepare` at the highest rank.
class HugeArm : public FakeArm {
 public:
  using FakeArm::FakeArm;
  void prepare(std::int64_t /*bytes*/) override {
    if (test_session().rank() == test_session().size() - 1) throw Failure(Exit::usage, "no room");
  }
};

}  // namespace roundtrip
