#include "statistics.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace rtlink {

namespace {
constexpr Nanoseconds kLate = 100 * kMicrosecond;
}  // namespace

void Statistics::note_sent(Nanoseconds lateness) {
  ++sent;
  if (lateness > kLate) ++late;
  late_sum += static_cast<double>(lateness);
  late_max = std::max(late_max, lateness);
}

std::string Statistics::json(const std::string& name) const {
  const double mean = sent == 0 ? 0 : late_sum / static_cast<double>(sent);
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  out << R"({"name":")" << name << R"(","frames":)" << frames << R"(,"bytes":)" << bytes
      << R"(,"sent":)" << sent << R"(,"lost":)" << lost << R"(,"dropped":)" << dropped
      << R"(,"cut":)" << cut << R"(,"late_over_100us":)" << late << R"(,"late_us_mean":)"
      << mean / kMicrosecond << R"(,"late_us_max":)" << static_cast<double>(late_max) / kMicrosecond
      << '}';
  return out.str();
}

}  // namespace rtlink
