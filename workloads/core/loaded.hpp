#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace roundtrip {

/// The GNU build id in a note segment (elf(5), NT_GNU_BUILD_ID), in hexadecimal; "" if it has none.
std::string build_id(std::string_view notes);

/// Files of the shared libraries that this process has loaded, links resolved, by requested name.
/// Before MPI_Init: the libraries that the program links, and those of LD_PRELOAD and LD_AUDIT.
std::map<std::string, std::string> loaded_libraries();

/// The sha256 of a file, in hexadecimal; empty if it cannot be read.
std::optional<std::string> sha256_of(const std::filesystem::path& path);

/// `file` and `build` of the MPI library that this process has loaded: its file, links resolved,
/// and its build id or else its sha256; and `preload`, the setting of LD_PRELOAD, else of LD_AUDIT.
/// Unknown values are null.
nlohmann::ordered_json describe_loaded();

}  // namespace roundtrip
