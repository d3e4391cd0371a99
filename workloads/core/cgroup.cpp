#include "core/cgroup.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string_view>

namespace roundtrip {
namespace {

namespace fs = std::filesystem;

/// Largest depth of a cgroup; deeper paths are not read.
constexpr std::size_t most_levels = 64;

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string one; std::getline(stream, one, separator);) found.push_back(one);
  return found;
}

bool lists(const std::string& text, std::string_view name) {
  const auto names = parts(text, ',');
  return std::ranges::find(names, name) != names.end();
}

/// Decodes a path of mountinfo: blanks, tabs, line breaks and backslashes are `\` and three octal
/// digits.
std::string unescaped(const std::string& text) {
  constexpr std::size_t digits = 3;
  constexpr std::string_view octal = "01234567";
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string code = text[i] == '\\' ? text.substr(i + 1, digits) : "";
    if (code.size() == digits && code.find_first_not_of(octal) == std::string::npos) {
      path += static_cast<char>(std::stoi(code, nullptr, 8));
      i += digits;
    } else {
      path += text[i];
    }
  }
  return path;
}

/// Mount of a hierarchy that may limit CPU time: its topmost cgroup and its mount point.
struct Mount {
  fs::path root;
  fs::path point;
};

std::optional<Mount> mount_of(const std::string& mountinfo, bool second_version) {
  constexpr std::size_t root = 3;
  constexpr std::size_t point = 4;
  for (const std::string& line : parts(mountinfo, '\n')) {
    const auto fields = parts(line, ' ');
    const auto separator = std::ranges::find(fields, "-");
    if (separator - fields.begin() <= static_cast<std::ptrdiff_t>(point) ||
        fields.end() - separator < 2) {
      continue;
    }
    const std::string& type = *(separator + 1);
    if (second_version ? type == "cgroup2" : type == "cgroup" && lists(fields.back(), "cpu")) {
      return Mount{unescaped(fields[root]), unescaped(fields[point])};
    }
  }
  return std::nullopt;
}

/// Path of a cgroup relative to the root of its mount; std::nullopt if it is outside.
std::optional<fs::path> below(const fs::path& root, const fs::path& cgroup) {
  if (!root.is_absolute() || !cgroup.is_absolute()) return std::nullopt;
  for (const fs::path& path : {root, cgroup}) {
    if (std::ranges::find(path, "..") != path.end()) return std::nullopt;
  }
  // A process in its own cgroup namespace reads `/`, wherever its cgroup is.
  const fs::path relative = cgroup == "/" ? "." : cgroup.lexically_relative(root);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative == "." ? fs::path() : relative;
}

}  // namespace

std::vector<fs::path> cpu_stat_files(const std::string& cgroup, const std::string& mountinfo) {
  std::vector<fs::path> files;
  for (const std::string& line : parts(cgroup, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !lists(controllers, "cpu")) continue;
    const auto mount = mount_of(mountinfo, controllers.empty());
    if (!mount) continue;
    const auto relative = below(mount->root, line.substr(second + 1));
    if (!relative ||
        static_cast<std::size_t>(std::distance(relative->begin(), relative->end())) > most_levels) {
      continue;
    }
    for (fs::path folder = *relative; !folder.empty(); folder = folder.parent_path()) {
      files.push_back(mount->point / folder / "cpu.stat");
    }
    files.push_back(mount->point / "cpu.stat");
  }
  return files;
}

std::optional<double> throttled_s(const std::string& cpu_stat) {
  std::istringstream lines(cpu_stat);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t count = 0;
    if (!(words >> name >> count) || count < 0) continue;
    if (name == "throttled_usec") return static_cast<double>(count) * 1e-6;
    if (name == "throttled_time") return static_cast<double>(count) * 1e-9;
  }
  return std::nullopt;
}

}  // namespace roundtrip
