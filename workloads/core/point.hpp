#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/median.hpp"

namespace roundtrip {

/// Why a point has the samples it has.
enum class Status : std::uint8_t {
  converged,  ///< the precision is reached
  budget,     ///< the time was spent before
  bounded,    ///< a message of this size would take the variant too long
  refused     ///< the MPI library cannot do what the variant does
};

/// One variant at one size. Without samples: the first size of the variant that was left out.
struct PointResult {
  std::string variant;
  std::int64_t size = 0;
  std::size_t samples = 0;
  std::int64_t batch = 0;                           ///< repetitions that make a sample
  std::optional<Estimate> estimate = std::nullopt;  ///< of the median sample, seconds
  Status status = Status::budget;
};

/// The point as run.json has it.
nlohmann::ordered_json point_record(const std::string& case_name, const PointResult& result);

/// The medians for people, in microseconds: a line a size, a column a variant, each at least
/// `width` wide. `*`: the precision was not reached; `bounded`: too slow from here on; `-`: not
/// measured.
std::string median_table(const std::vector<std::string>& variants,
                         const std::vector<PointResult>& results, std::size_t width);

}  // namespace roundtrip
