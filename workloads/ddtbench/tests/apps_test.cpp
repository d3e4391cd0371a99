#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "core/failure.hpp"
#include "ddtbench/catalogue.hpp"
#include "ddtbench/copy.hpp"

namespace roundtrip::ddtbench {
namespace {

/// The study's table: bytes of every parameter set on two ranks.
const std::map<std::string, std::multiset<std::size_t>> study = {
    {"WRF_y_vec", {90804, 75012, 63168, 55272, 43428}},
    {"WRF_y_sa", {90804, 75012, 63168, 55272, 43428}},
    {"WRF_x_vec", {173712, 102648, 63168}},
    {"WRF_x_sa", {173712, 102648, 63168}},
    {"MILC_su3_zd", {98304, 49152, 24576, 12288}},
    {"NAS_LU_x", {480, 1320, 2560, 4080, 6480, 16320, 40800}},
    {"NAS_LU_y", {480, 1320, 2560, 4080, 6480, 16320, 40800}},
    {"NAS_MG_x", {2048, 32768, 131072, 524288}},
    {"NAS_MG_y", {4096, 65536, 262144, 1048576}},
    {"NAS_MG_z", {4096, 65536, 262144, 1048576}},
    {"LAMMPS_full", {195968, 143552, 106368}},
    {"LAMMPS_atomic", {11664, 6960, 5472}},
    {"SPECFEM3D_oc", {12900, 7588, 3508, 1972}},
    {"SPECFEM3D_cm", {177672, 106248, 55224, 26424}},
    {"SPECFEM3D_mt", {91200, 76800, 67200, 74400}},
    {"FFT", {524288, 2097152, 4718592, 8388608, 18874368}},
};

std::size_t bytes_of(const Place& place) {
  int size = 0;
  MPI_Type_size(place.type, &size);
  return static_cast<std::size_t>(size) * static_cast<std::size_t>(place.count);
}

Expected message(const Region& region, unsigned seed) {
  return {.block_words = region.words(), .first_word = 0, .first_seed = seed};
}

TEST(Catalogue, IsTheStudysTable) {
  std::map<std::string, std::multiset<std::size_t>> found;
  const Catalogue all = select({.apps = app_names()}, 2);
  for (const Case& item : all) found[item.app].insert(item.bytes);
  EXPECT_EQ(found, study);
  EXPECT_EQ(all.size(), 69U);
  EXPECT_EQ(app_names().size(), 16U);
}

TEST(Catalogue, SelectsTheLargestOfEach) {
  for (const Case& item : select({.apps = app_names(), .largest_only = true}, 2)) {
    EXPECT_EQ(item.bytes, *study.at(item.app).rbegin()) << item.app;
  }
}

TEST(Catalogue, SharesFftAmongRanks) {
  for (const Case& item : select({.apps = {"FFT"}}, 4)) {
    const auto app = item.make();
    EXPECT_EQ(app->sent().bytes(), item.bytes);
  }
  EXPECT_EQ(select({.apps = {"FFT"}}, 4)[0].bytes, 16U * 256 * 256 / 4);
  // 256 is raised by 256 mod 6 to 260, which 6 does not divide either.
  EXPECT_THROW(select({.apps = {"FFT"}}, 6), Failure);
  EXPECT_NO_THROW(select({.apps = {"MILC_su3_zd"}}, 6));
}

/// All cases except the largest two of FFT, with messages of 8 and 19 MB.
Catalogue modest() {
  Catalogue cases = select({.apps = app_names()}, 2);
  std::erase_if(cases, [](const Case& item) { return item.bytes > 4'800'000; });
  return cases;
}

class Apps : public testing::TestWithParam<Case> {};

TEST_P(Apps, HaveDatatypesOfTheSizeInTheTable) {
  const auto app = GetParam().make();
  EXPECT_EQ(app->sent().bytes(), GetParam().bytes);
  EXPECT_EQ(app->received().bytes(), GetParam().bytes);
  for (const Origin origin : {Origin::bottom, Origin::array}) {
    const Datatypes types = app->commit(origin);
    EXPECT_EQ(bytes_of(types.send), GetParam().bytes);
    EXPECT_EQ(bytes_of(types.receive), GetParam().bytes);
  }
}

/// Datatypes and regions describe the same places in the same order.
TEST_P(Apps, DatatypesMeanWhatTheRegionsSay) {
  const auto app = GetParam().make();
  std::mt19937 random(7);
  app->shuffle(random);
  const Region sent = app->sent();
  const Region received = app->received();
  const auto bytes = static_cast<int>(GetParam().bytes);
  std::vector<char> packed(GetParam().bytes);
  // Relative to an array, because some MPI libraries refuse to pack from MPI_BOTTOM.
  const Datatypes types = app->commit(Origin::array);
  sent.fill(1);
  int position = 0;
  MPI_Pack(types.send.base, types.send.count, types.send.type, packed.data(), bytes, &position,
           MPI_COMM_SELF);
  ASSERT_EQ(position, bytes);
  Region buffer;
  buffer.add(packed.data(), packed.size());
  EXPECT_FALSE(buffer.first_mismatch(message(buffer, 1)));

  buffer.fill(2);
  received.poison(message(received, 2));
  position = 0;
  MPI_Unpack(packed.data(), bytes, &position, types.receive.base, types.receive.count,
             types.receive.type, MPI_COMM_SELF);
  EXPECT_FALSE(received.first_mismatch(message(received, 2)));
}

/// The loops pack and unpack the data of the regions, and write nothing behind the buffer.
TEST_P(Apps, PackLoopsMeanWhatTheRegionsSay) {
  const auto app = GetParam().make();
  const Region sent = app->sent();
  const Region received = app->received();
  for (const bool tuned : {false, true}) {
    std::vector<char> packed(GetParam().bytes + 64, 'g');
    sent.fill(3);
    tuned ? app->pack_tuned(packed.data()) : app->pack(packed.data());
    EXPECT_EQ(std::string(packed.end() - 64, packed.end()), std::string(64, 'g'));
    received.poison(message(received, 3));
    if (app->landing() != nullptr) {
      std::memcpy(app->landing(), packed.data(), GetParam().bytes);
    }
    tuned ? app->unpack_tuned(packed.data()) : app->unpack(packed.data());
    EXPECT_FALSE(received.first_mismatch(message(received, 3))) << tuned;
  }
}

TEST(TunedLoops, AreWhereTheyGainMoreThanATenth) {
  std::set<std::string> tuned;
  for (const Case& item : select({.apps = app_names(), .largest_only = true}, 2)) {
    if (item.make()->has_tuned_loops()) tuned.insert(item.app);
  }
  EXPECT_EQ(tuned, (std::set<std::string>{"WRF_y_vec", "WRF_x_vec", "WRF_y_sa", "WRF_x_sa",
                                          "NAS_LU_x", "NAS_LU_y", "NAS_MG_y", "NAS_MG_z",
                                          "LAMMPS_atomic", "SPECFEM3D_cm", "SPECFEM3D_mt", "FFT"}));
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return info.param.app + '_' + std::to_string(info.param.bytes);
}

INSTANTIATE_TEST_SUITE_P(All, Apps, testing::ValuesIn(modest()), name_of);

constexpr std::size_t word = sizeof(std::uint32_t);

TEST(Region, FindsEveryWrongWord) {
  std::vector<std::uint32_t> memory(64);
  Region region;
  region.add(&memory[40], 4 * word);
  region.add(memory.data(), 8 * word);
  region.add(&memory[8], 2 * word);
  ASSERT_EQ(region.words(), 14U);
  region.fill(5);
  EXPECT_FALSE(region.first_mismatch(message(region, 5)));
  EXPECT_EQ(region.first_mismatch(message(region, 6)), 0U);
  memory[9] ^= 1U;
  EXPECT_EQ(region.first_mismatch(message(region, 5)), 13U);
  std::swap(memory[41], memory[42]);
  EXPECT_EQ(region.first_mismatch(message(region, 5)), 1U);
}

TEST(Region, KnowsItsSenders) {
  std::vector<std::uint32_t> memory(6);
  Region region;
  region.add(memory.data(), 6 * word);
  // From each of two senders, the second block of three words of its message.
  const Expected expected = {.block_words = 3, .first_word = 3, .first_seed = 8};
  for (std::size_t i = 0; i < 6; ++i) {
    memory[i] = pattern_word(3 + i % 3, 8 + static_cast<unsigned>(i / 3));
  }
  EXPECT_FALSE(region.first_mismatch(expected));
  region.poison(expected);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NE(memory[i], pattern_word(3 + i % 3, 8 + static_cast<unsigned>(i / 3)));
  }
}

TEST(CopyRun, CopiesAllAndNoMore) {
  for (std::size_t bytes = 4; bytes <= 132; bytes += 4) {
    const std::string from(bytes, 'x');
    std::string to(bytes + 8, '.');
    copy_run(to.data(), from.data(), bytes);
    EXPECT_EQ(to, from + "........") << bytes;
  }
}

}  // namespace
}  // namespace roundtrip::ddtbench
