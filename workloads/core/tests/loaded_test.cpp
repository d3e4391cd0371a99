#include "core/loaded.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <string>

namespace roundtrip {
namespace {

/// A note as the linker writes it: lengths and type, then name and content, each padded to 4 bytes.
std::string note(ElfW(Word) type, std::string name, std::string content) {
  const ElfW(Nhdr) head{.n_namesz = static_cast<ElfW(Word)>(name.size()),
                        .n_descsz = static_cast<ElfW(Word)>(content.size()),
                        .n_type = type};
  const auto fill = [](std::string& text) { text.resize((text.size() + 3) / 4 * 4); };
  fill(name);
  fill(content);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + name + content;
}

const std::string gnu("GNU\0", 4);

TEST(BuildId, IsFoundBehindOtherNotes) {
  const std::string property = note(5, gnu, std::string(16, 'p'));
  const std::string foreign = note(NT_GNU_BUILD_ID, "stapsdt", "not mine");
  const std::string own = note(NT_GNU_BUILD_ID, gnu, "\x01\xab\xff");
  EXPECT_EQ(build_id(property + foreign + own), "01abff");
  EXPECT_EQ(build_id(own + property), "01abff");
}

TEST(BuildId, OfTruncatedNotesIsNone) {
  const std::string whole = note(5, gnu, "long") + note(NT_GNU_BUILD_ID, gnu, "\x01\xab\xff\x02");
  ASSERT_EQ(build_id(whole), "01abff02");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(build_id(std::string_view(whole).substr(0, size)), "") << size;
  }
}

TEST(BuildId, OfLengthsBeyondTheSegmentIsNone) {
  std::string odd = note(NT_GNU_BUILD_ID, gnu, "1234");
  odd.replace(0, 8, std::string(8, '\xff'));
  EXPECT_EQ(build_id(odd), "");
}

TEST(LoadedLibraries, AreFilesByTheNameThatTheProgramLinks) {
  const auto found = loaded_libraries();
  ASSERT_EQ(found.count("libc.so.6"), 1U);
  for (const auto& [name, file] : found) {
    EXPECT_EQ(name.find('/'), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_regular_file(file)) << file;
  }
}

}  // namespace
}  // namespace roundtrip
