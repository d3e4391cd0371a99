#include "core/node.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace roundtrip {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Longest fact of a node, characters; longer ones are truncated.
constexpr std::size_t longest = 200;

/// Printable ASCII of `text`, runs of blanks collapsed, ends trimmed; nullopt if that is empty.
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

/// Value of `name` for the first processor, the first paragraph of /proc/cpuinfo.
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
  std::string text;
  const auto add = [&text](std::string_view before, const std::optional<std::string>& value) {
    if (value) text.append(text.empty() ? ": " : ", ").append(before).append(*value);
  };
  add("", first_line(device / "board_id"));
  add("firmware ", first_line(device / "fw_ver"));
  std::error_code none;
  const fs::path driver = fs::read_symlink(device / "device" / "driver", none).filename();
  if (const auto name = plain(driver.string())) {
    const auto version = first_line(device / "device" / "driver" / "module" / "version");
    add("driver ", version ? *name + ' ' + *version : *name);
  }
  std::error_code none_of_ports;
  std::set<fs::path> ports;
  for (const auto& port : fs::directory_iterator(device / "ports", none_of_ports)) {
    ports.insert(port.path());
  }
  for (const fs::path& port : ports) {
    add("port " + port.filename().string() + " at ", first_line(port / "rate"));
  }
  return plain(device.filename().string()).value_or("?") + text;
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

std::optional<std::string> threads_on_a_core(const fs::path& processors) {
  if (const auto active = first_line(processors / "smt/active"))
    return *active == "1" ? "on" : "off";
  const auto siblings = first_line(processors / "cpu0/topology/thread_siblings_list");
  if (!siblings) return std::nullopt;
  return siblings->find_first_of(",-") == std::string::npos ? "off" : "on";
}

/// Number of online processors in a list such as `0-3,6`.
std::optional<std::uint64_t> processors_online(const fs::path& processors) {
  std::ifstream file(processors / "online");
  std::uint64_t count = 0;
  for (std::string range; std::getline(file, range, ',');) {
    std::istringstream ends(range);
    std::uint64_t first = 0;
    if (!(ends >> first)) return std::nullopt;
    std::uint64_t last = first;
    if (ends.get() == '-' && !(ends >> last)) return std::nullopt;
    if (last < first) return std::nullopt;
    count += last - first + 1;
  }
  if (count == 0) return std::nullopt;
  return count;
}

/// The setting in brackets: `madvise` in `always [madvise] never`.
std::optional<std::string> chosen(const fs::path& path) {
  const auto line = first_line(path);
  const auto begin = line ? line->find('[') : std::string::npos;
  const auto end = line ? line->find(']') : std::string::npos;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  return line->substr(begin + 1, end - begin - 1);
}

/// Rounded to GiB: the memory that the kernel reserves varies a little between boots.
std::optional<std::string> memory(const fs::path& meminfo) {
  std::ifstream file(meminfo);
  std::string name;
  double kib = 0;
  if (!(file >> name >> kib) || name != "MemTotal:") return std::nullopt;
  constexpr double kib_per_gib = 1024.0 * 1024.0;
  return std::to_string(std::llround(kib / kib_per_gib)) + " GiB";
}

}  // namespace

ordered_json read_node(const fs::path& root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  const fs::path processors = root / "sys/devices/system/cpu";
  const auto online = processors_online(processors);
  return {{"kernel", or_null(first_line(root / "proc/sys/kernel/osrelease"))},
          {"processor", or_null(of_processor(cpuinfo, "model name"))},
          {"microcode", or_null(of_processor(cpuinfo, "microcode"))},
          {"firmware", or_null(first_line(root / "sys/class/dmi/id/bios_version"))},
          {"governor", or_null(first_line(processors / "cpu0/cpufreq/scaling_governor"))},
          {"smt", or_null(threads_on_a_core(processors))},
          {"memory", or_null(memory(root / "proc/meminfo"))},
          {"clock_source",
           or_null(first_line(root /
                              "sys/devices/system/clocksource/clocksource0/current_clocksource"))},
          {"logical", online ? ordered_json(*online) : ordered_json(nullptr)},
          {"huge_pages", or_null(chosen(root / "sys/kernel/mm/transparent_hugepage/enabled"))},
          {"adapters", adapters(root / "sys/class/infiniband")},
          {"boot", or_null(first_line(root / "proc/sys/kernel/random/boot_id"))}};
}

SentBytes read_sent_bytes(const fs::path& root) {
  SentBytes sent;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/net", none)) {
    const std::string name = entry.path().filename().string();
    std::ifstream file(entry.path() / "statistics/tx_bytes");
    std::uint64_t bytes = 0;
    if (name != "lo" && file >> bytes) sent[name] = bytes;
  }
  return sent;
}

ordered_json traffic_since(const SentBytes& before) {
  ordered_json sent = ordered_json::object();
  ordered_json interfaces = ordered_json::object();
  for (const auto& [name, bytes] : read_sent_bytes("/")) {
    const auto earlier = before.find(name);
    if (earlier == before.end() || bytes < earlier->second) continue;
    sent[name] = bytes - earlier->second;
    if (bytes > earlier->second) interfaces[name] = read_interface("/", name);
  }
  return {{"sent_bytes", sent}, {"interfaces", interfaces}};
}

std::string read_interface(const fs::path& root, const std::string& name) {
  const fs::path interface = root / "sys/class/net" / name;
  std::string text = "MTU " + first_line(interface / "mtu").value_or("unknown");
  std::ifstream file(interface / "speed");
  std::int64_t mbit_s = 0;
  // The speed of a bridge varies with the interfaces attached to it.
  const bool is_hardware = fs::exists(interface / "device");
  if (is_hardware && file >> mbit_s && mbit_s > 0)
    text += ", " + std::to_string(mbit_s) + " Mbit/s";
  return text;
}

}  // namespace roundtrip
