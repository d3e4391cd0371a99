#pragma once

#include <cstddef>
#include <string>

#include "ddtbench/survey.hpp"

namespace roundtrip::ddtbench {

/// Rows of the output file of DDTBench 1.2: nine right-aligned columns, times in microseconds in
/// the order of measurement; PAPI's columns are NA. Every method has rows of all five epochs; an
/// epoch that it lacks has one row, with time 0.
class OriginalFormat {
 public:
  OriginalFormat();

  /// Adds the rows of one method. The number of `ranks` is appended to the name of FFT.
  void add(const Case& item, const ArmResult& arm, int ranks);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace roundtrip::ddtbench
