#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ring/circle.hpp"
#include "ring/cooperation.hpp"
#include "ring/token.hpp"

namespace roundtrip::ring {

/// Hands the region itself over, by Cooperative Data Sharing.
template <Travel travel>
class RegionPort {
 public:
  RegionPort(const Circle& circle, std::size_t most, std::size_t heap)
      : circle_(circle), cds_(circle, travel, most, heap) {}

  void begin(std::size_t bytes) {
    region_ = Region();
    if (circle_.rank() == 0) region_ = cds_.allocate(bytes);
    offset_.reset();
    moved_.reset();
  }
  char* held() { return region_.bytes().data(); }
  void put() { cds_.put(circle_.next(), region_); }
  char* get() {
    region_ = cds_.get();
    // A region that never left the node is where it was a lap ago, or it was copied.
    if (offset_.value_or(region_.offset()) != region_.offset()) moved_ = region_.offset();
    offset_ = region_.offset();
    cds_.modify(region_);
    return region_.bytes().data();
  }
  void poison() {}
  void settle() { cds_.settle(); }
  [[nodiscard]] std::optional<std::string> fault() const {
    if (cds_.copies() != 0) return std::to_string(cds_.copies()) + " regions were copied";
    if (!moved_ || !circle_.one_node()) return std::nullopt;
    return "the region was not handed over in place: it moved to offset " + std::to_string(*moved_);
  }
  void describe(nlohmann::ordered_json& record) const {
    cds_.describe(record[travel == Travel::udp ? "region-udp" : "region"]);
  }

 protected:
  /// Where the region is once another holder keeps the one that came.
  char* split() {
    const Region other = cds_.share(region_);
    cds_.modify(region_);
    return region_.bytes().data();
  }

 private:
  const Circle& circle_;
  Cooperation cds_;
  Region region_;
  std::optional<std::uint64_t> offset_;
  std::optional<std::uint64_t> moved_;
};

}  // namespace roundtrip::ring
