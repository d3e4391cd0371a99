#pragma once

#include <filesystem>
#include <string_view>

namespace roundtrip {

/// Writes `text` to `path`: wholly, or not at all. It is written to `<path>.partial`, which takes
/// the name of `path` once it is on disk. Throws Failure(usage) naming the file and the reason.
void write_whole(const std::filesystem::path& path, std::string_view text);

/// Throws what write_whole would if `path` could not be written at all; leaves nothing behind.
void require_writable(const std::filesystem::path& path);

}  // namespace roundtrip
