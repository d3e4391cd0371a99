#include "core/node.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace roundtrip {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// No fact of a node is longer; what is, is cut.
constexpr std::size_t longest = 200;

/// One line of printable ASCII without blanks at its ends; nothing if that leaves none.
std::optional<std::string> plain(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t';
    if (is_blank ? !line.empty() && line.back() != ' ' : c > ' ' && c <= '~') {
      line += is_blank ? ' ' : c;
    }
  }
  line.resize(std::min(line.size(), longest));
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.empty()) return std::nullopt;
  return line;
}

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return plain(line);
}

/// The value of `name` in the first paragraph of /proc/cpuinfo, which is of the first processor.
std::optional<std::string> of_processor(const fs::path& cpuinfo, std::string_view name) {
  std::ifstream file(cpuinfo);
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (plain(line.substr(0, colon)) == name) return plain(line.substr(colon + 1));
  }
  return std::nullopt;
}

/// ``mlx5_0: MT_0000000223, firmware 20.31.1014, driver mlx5_core 5.8-1.1.2``.
std::string adapter(const fs::path& device) {
  std::string told;
  const auto add = [&told](std::string_view before, const std::optional<std::string>& value) {
    if (value) told.append(told.empty() ? ": " : ", ").append(before).append(*value);
  };
  add("", first_line(device / "board_id"));
  add("firmware ", first_line(device / "fw_ver"));
  std::error_code none;
  const fs::path driver = fs::read_symlink(device / "device" / "driver", none).filename();
  if (const auto name = plain(driver.string())) {
    const auto version = first_line(device / "device" / "driver" / "module" / "version");
    add("driver ", version ? *name + ' ' + *version : *name);
  }
  return plain(device.filename().string()).value_or("?") + told;
}

ordered_json adapters(const fs::path& folder) {
  std::error_code none;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    found.push_back(adapter(entry.path()));
  }
  std::ranges::sort(found);
  return found;
}

ordered_json or_null(const std::optional<std::string>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

}  // namespace

ordered_json read_node(const fs::path& root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  return {{"kernel", or_null(first_line(root / "proc/sys/kernel/osrelease"))},
          {"processor", or_null(of_processor(cpuinfo, "model name"))},
          {"microcode", or_null(of_processor(cpuinfo, "microcode"))},
          {"firmware", or_null(first_line(root / "sys/class/dmi/id/bios_version"))},
          {"governor",
           or_null(first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))},
          {"adapters", adapters(root / "sys/class/infiniband")}};
}

ordered_json nodes_of(const Session& session) {
  const auto texts = session.gather(read_node("/").dump());
  ordered_json nodes = ordered_json::array();
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string& host = session.placement()[rank].host;
    if (!seen.insert(host).second) continue;
    ordered_json node = {{"host", host}};
    node.update(ordered_json::parse(texts[rank]));
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace roundtrip
