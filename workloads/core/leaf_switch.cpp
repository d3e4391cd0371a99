#include "core/leaf_switch.hpp"

namespace roundtrip {

std::string leaf_switch(std::string_view address, std::string_view pattern) {
  const auto end = address.rfind('.');
  if (!pattern.ends_with("switch.node") || end == std::string_view::npos) return {};
  const auto path = address.substr(0, end);
  return std::string(path.substr(path.rfind('.') + 1));
}

}  // namespace roundtrip
