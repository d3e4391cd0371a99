#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roundtrip {

/// `value` as JSON, by default on one line. Arguments, paths and variables need not be UTF-8:
/// U+FFFD replaces what is not.
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace roundtrip
