#include "core/loaded.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "core/sha256.hpp"

namespace roundtrip {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Search for the build id of the loaded file that contains `address`.
struct Search {
  std::uintptr_t address;
  std::string build;
};

int visit(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto in_memory = [info](const ElfW(Phdr) & header) {
    return static_cast<std::uintptr_t>(info->dlpi_addr + header.p_vaddr);
  };
  const auto* const end = info->dlpi_phdr + info->dlpi_phnum;
  const bool is_it = std::any_of(info->dlpi_phdr, end, [&](const ElfW(Phdr) & header) {
    const auto begin = in_memory(header);
    return header.p_type == PT_LOAD && search.address >= begin &&
           search.address < begin + header.p_memsz;
  });
  if (!is_it) return 0;
  for (const auto* header = info->dlpi_phdr; header != end; ++header) {
    if (header->p_type != PT_NOTE || !search.build.empty()) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader says that the segment is
    const auto* const notes = reinterpret_cast<const char*>(in_memory(*header));
    search.build = build_id({notes, header->p_memsz});
  }
  return 1;
}

/// Adds file and build of the loaded MPI library. Looks up a PMPI_ name, because tools that measure
/// MPI calls replace the MPI_ names.
void add_loaded_file(ordered_json& identity) {
  void* const symbol = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
  Dl_info found{};
  if (symbol == nullptr || dladdr(symbol, &found) == 0 || found.dli_fname == nullptr) return;
  std::error_code none;
  const fs::path path = fs::canonical(found.dli_fname, none);
  if (none) return;
  identity["file"] = path.string();
  Search search{.address = reinterpret_cast<std::uintptr_t>(symbol), .build = {}};
  dl_iterate_phdr(visit, &search);
  if (!search.build.empty()) {
    identity["build"] = "gnu:" + search.build;
  } else if (const auto digest = sha256_of(path)) {
    identity["build"] = "sha256:" + *digest;
  }
}

}  // namespace

std::optional<std::string> sha256_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) return std::nullopt;
  return sha256(content.str());
}

std::string build_id(std::string_view notes) {
  constexpr std::size_t alignment = 4;
  const auto padded = [](std::size_t size) {
    return (size + alignment - 1) / alignment * alignment;
  };
  ElfW(Nhdr) head{};
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    const std::size_t name = padded(head.n_namesz);
    const std::size_t content = padded(head.n_descsz);
    if (name > notes.size() || content > notes.size() - name) return {};
    if (head.n_type == NT_GNU_BUILD_ID && notes.starts_with(std::string_view("GNU\0", 4))) {
      std::string digits;
      for (const char byte : notes.substr(name, head.n_descsz)) {
        constexpr const char* hexadecimal = "0123456789abcdef";
        const auto value = static_cast<unsigned char>(byte);
        digits += {hexadecimal[value / 16], hexadecimal[value % 16]};
      }
      return digits;
    }
    notes.remove_prefix(name + content);
  }
  return {};
}

std::map<std::string, std::string> loaded_libraries() {
  std::map<std::string, std::string> found;
  const auto add = [](dl_phdr_info* info, std::size_t /*size*/, void* data) {
    std::error_code none;
    const fs::path path = info->dlpi_name;
    const fs::path real = fs::canonical(path, none);  // fails for the program and the vDSO
    if (!none && path.is_absolute()) {
      static_cast<decltype(found)*>(data)->emplace(path.filename().string(), real.string());
    }
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

ordered_json describe_loaded() {
  ordered_json loaded = {{"file", nullptr}, {"build", nullptr}, {"preload", nullptr}};
  add_loaded_file(loaded);
  for (const char* name : {"LD_AUDIT", "LD_PRELOAD"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') loaded["preload"] = std::string(name) + '=' + value;
  }
  return loaded;
}

}  // namespace roundtrip
