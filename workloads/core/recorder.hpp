#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics.hpp"

namespace roundtrip {

/// Columns that the samples of a series share: all of samples.csv except rep and value.
struct SeriesKey {
  std::string study;
  std::string case_name;
  std::string variant;
  std::int64_t size_bytes = 0;
  std::string phase;
  Metric metric{};
};

/// Keeps every sample of a launch in memory; nothing is written while measuring.
class Recorder {
 public:
  /// Samples of a new series, to append to; rep = 0, 1, ... The reference stays valid.
  std::vector<double>& open(const SeriesKey& key);

  /// Number of samples in all series.
  [[nodiscard]] std::size_t rows() const;

  /// Text of samples.csv: a `# key: <JSON>` line for each entry of `header`, the fixed line of
  /// column names, a row for each sample. Numbers read back as the same double; a text with a
  /// comma, quote or line break is quoted as in RFC 4180.
  [[nodiscard]] std::string csv(const nlohmann::ordered_json& header) const;

  /// Integrity data of samples.csv: number of rows, sha256 of `csv_text`, and number of samples of
  /// each series.
  [[nodiscard]] nlohmann::ordered_json seal(std::string_view csv_text) const;

 private:
  struct Series {
    SeriesKey key;
    std::vector<double> samples;
  };
  std::deque<Series> series_;
};

/// `text` as one field of a CSV file (RFC 4180).
std::string csv_field(std::string_view text);

}  // namespace roundtrip
