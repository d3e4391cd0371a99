#pragma once

#include <filesystem>
#include <string_view>

namespace roundtrip {

/// Writes `text` to `path` atomically: to `<path>.partial`, renamed to `path` once it is on disk.
/// Throws Failure(usage) naming the file and the reason.
void write_whole(const std::filesystem::path& path, std::string_view text);

/// Throws as write_whole does if `path` cannot be written; leaves no file behind.
void require_writable(const std::filesystem::path& path);

}  // namespace roundtrip
