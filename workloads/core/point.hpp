#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/median.hpp"

namespace roundtrip {

/// Why a point has no more samples.
enum class Status : std::uint8_t {
  converged,  ///< the precision is reached
  budget,     ///< the time or the maximum of samples was spent before
  bounded,    ///< the variant would take too long at this size
  refused     ///< the MPI library cannot execute the variant
};

/// One variant at one size. Without samples: the smallest size that `status` excluded.
struct PointResult {
  std::string variant;
  std::int64_t size = 0;
  std::size_t samples = 0;
  std::int64_t batch = 0;                           ///< repetitions per sample
  std::optional<Estimate> estimate = std::nullopt;  ///< median of the samples, seconds
  Status status = Status::budget;
};

/// The point's entry in run.json.
nlohmann::ordered_json point_record(const std::string& case_name, const PointResult& result);

/// Table of medians, microseconds: a line per size, a column per variant, each at least
/// `width` wide. `*`: the precision was not reached; `bounded`: too slow from here on; `-`: not
/// measured.
std::string median_table(const std::vector<std::string>& variants,
                         const std::vector<PointResult>& results, std::size_t width);

}  // namespace roundtrip
