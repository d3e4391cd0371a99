#include <gtest/gtest.h>

#include <sstream>

#include "core/failure.hpp"
#include "core/launch.hpp"
#include "core/testing/session.hpp"
#include "ddtbench/original_format.hpp"
#include "ddtbench/survey.hpp"

namespace roundtrip::ddtbench {
namespace {

Ends world() {
  Ends ends{.comm = MPI_COMM_WORLD};
  MPI_Comm_rank(ends.comm, &ends.rank);
  MPI_Comm_size(ends.comm, &ends.size);
  return ends;
}

Plan full_plan() {
  Plan plan{.bufferings = {Buffering::original, Buffering::same, Buffering::cold},
            .methods = {},
            .precision = 10,
            .evicted_bytes = 4096,
            .seed = 3};
  for (const MethodInfo& info : methods()) plan.methods.push_back(&info);
  return plan;
}

std::vector<ArmResult> measured(const Case& item, MicroApp& app, double seconds) {
  CommonFlags flags;
  flags.seed = 3;
  Launch launch{test_session(), flags, examine_clock(), {}, {}};
  auto results = survey(item, app, full_plan(), world(), launch, seconds);
  EXPECT_EQ(launch.recorder.rows(), 0U) << "what is recorded are epochs, see record()";
  return results;
}

Case smallest(const std::string& app) {
  Case found;
  for (const Case& item : select({.apps = {app}}, 2)) {
    if (found.app.empty() || item.bytes < found.bytes) found = item;
  }
  return found;
}

class Surveys : public testing::TestWithParam<std::string> {};

TEST_P(Surveys, MeasureAndVerifyEveryMethod) {
  const Case item = smallest(GetParam());
  const auto app = item.make();
  const auto results = measured(item, *app, 0.05);
  ASSERT_EQ(results.size(), app->has_tuned_loops() ? 15U : 12U);
  if (world().rank != 0) return;  // rank 0 takes all times
  for (const ArmResult& arm : results) {
    const Samples& samples = arm.samples;
    const std::size_t n = samples.communication.size();
    ASSERT_GT(n, 0U) << arm.method->name;
    EXPECT_EQ(n % static_cast<std::size_t>(arm.inner), 0U);
    EXPECT_EQ(samples.pack.size(), arm.method->packs ? n : 0);
    EXPECT_EQ(samples.unpack.size(), arm.method->packs ? n : 0);
    const std::size_t outer = n / static_cast<std::size_t>(arm.inner);
    EXPECT_EQ(samples.create.size(), arm.method->creates ? outer : 0);
    EXPECT_EQ(samples.free.size(), arm.method->creates ? outer : 0);
    EXPECT_EQ(samples.create_again.size(), samples.create.size());
    EXPECT_EQ(samples.free_again.size(), samples.free.size());
    EXPECT_GT(arm.discarded, 0);
    EXPECT_EQ(arm.point.samples, n);
    EXPECT_EQ(arm.point.batch, 1);
    EXPECT_GT(arm.point.estimate->median, 0);
    EXPECT_NE(arm.point.status, Status::refused);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Surveys, testing::ValuesIn(app_names()),
                         [](const auto& app) { return app.param; });

/// A micro-app whose unpack loop corrupts one value on rank 1.
class Forgetful final : public MicroApp {
 public:
  explicit Forgetful(std::unique_ptr<MicroApp> sound, int rank)
      : sound_(std::move(sound)), rank_(rank) {}

  [[nodiscard]] MPI_Datatype element() const override { return sound_->element(); }
  [[nodiscard]] Region sent() const override { return sound_->sent(); }
  [[nodiscard]] Region received() const override { return sound_->received(); }
  [[nodiscard]] Datatypes commit(Origin origin) const override { return sound_->commit(origin); }
  void pack(char* buffer) const override { sound_->pack(buffer); }
  void unpack(const char* buffer) const override {
    constexpr std::size_t element = 17;
    std::vector<char> spoilt(buffer, buffer + received().bytes());
    if (rank_ == 1) spoilt[element * sizeof(double) + 3] ^= 1;
    sound_->unpack(spoilt.data());
  }

 private:
  std::unique_ptr<MicroApp> sound_;
  int rank_;
};

TEST(Survey, NamesAppMethodAndElementOfWrongData) {
  const Case item = smallest("NAS_LU_y");
  Forgetful app(item.make(), world().rank);
  try {
    measured(item, app, 0.05);
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), Exit::wrong_data);
    EXPECT_STREQ(
        failure.what(),
        "wrong data: NAS_LU_y of 480 bytes, method manual, buffers original, element 17 at "
        "rank 1");
  }
}

/// A micro-app whose type the MPI library refuses.
class Impossible final : public MicroApp {
 public:
  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }
  [[nodiscard]] Region sent() const override { return region(out_); }
  [[nodiscard]] Region received() const override { return region(in_); }
  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    return one_type(contiguous(-1, MPI_DOUBLE), out_.data(), in_.data());
  }
  void pack(char* buffer) const override { std::copy_n(out_.data(), bytes, buffer); }
  void unpack(const char* buffer) const override { std::copy_n(buffer, bytes, in_.data()); }

  static constexpr std::size_t bytes = 64;

 private:
  static Region region(std::vector<char>& memory) {
    Region region;
    region.add(memory.data(), bytes);
    return region;
  }
  mutable std::vector<char> out_ = std::vector<char>(bytes);
  mutable std::vector<char> in_ = std::vector<char>(bytes);
};

TEST(Survey, RecordsARefusalAndMeasuresTheRest) {
  const Case item = {.app = "Impossible", .parameters = "", .bytes = Impossible::bytes, .make = {}};
  Impossible app;
  const auto results = measured(item, app, 0.01);
  for (const ArmResult& arm : results) {
    const bool uses_types = arm.method->name == "mpi_ddt" || arm.method->name == "mpi_pack_ddt";
    const bool measured = !arm.samples.communication.empty();
    EXPECT_EQ(measured, world().rank == 0 && !uses_types) << arm.method->name;
    ASSERT_EQ(arm.finding.has_value(), uses_types);
    if (!uses_types) continue;
    EXPECT_EQ(arm.point.status, Status::refused);
    EXPECT_EQ(arm.finding->call, "MPI_Type_contiguous");
    EXPECT_EQ(arm.finding->consequence, "not measured");
    EXPECT_FALSE(arm.finding->error.empty());
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lines of a file that DDTBench 1.2 wrote.
TEST(OriginalFormat, IsDdtbenchs) {
  const std::string head =
      "                      testname                        method          bytes                 "
      " "
      "id                time      papi_evt1_type       papi_evt1_val      papi_evt2_type       "
      "papi_evt2_val";
  const std::string row =
      "                      NAS_LU_x                        manual          40800                "
      "pack               0.910                  NA                  NA                  NA        "
      "  "
      "        NA";
  ArmResult arm;
  arm.method = &methods()[1];
  arm.inner = 2;
  arm.samples = {.create = {2.292e-6, 0.294e-6},
                 .pack = {0.910e-6, 1e-6, 2e-6, 3e-6},
                 .communication = {8e-6, 8e-6, 8e-6, 8e-6},
                 .unpack = {1e-6, 1e-6, 1e-6, 1e-6},
                 .free = {0.510e-6, 0.073e-6},
                 .create_again = {},
                 .free_again = {}};
  OriginalFormat original;
  original.add({.app = "NAS_LU_x", .parameters = "", .bytes = 40800, .make = {}}, arm, 2);
  const auto lines = lines_of(original.text());
  ASSERT_EQ(lines.size(), 1U + 2 * (3 * 2 + 2));
  EXPECT_EQ(lines[0], head);
  EXPECT_EQ(lines[2], row);
}

/// Rows for o outer and i inner iterations, as counted in files of DDTBench 1.2.
TEST(OriginalFormat, HasAsManyRowsAsDdtbench) {
  constexpr std::size_t o = 3;
  constexpr std::size_t i = 5;
  const auto rows = [](const char* app, std::size_t method, bool skips_unpack) {
    ArmResult arm;
    arm.method = &methods()[method];
    arm.inner = i;
    arm.skips_unpack = skips_unpack;
    const std::vector<double> inner(o * i, 1e-6);
    const std::vector<double> outer(o, 1e-6);
    arm.samples = {.create = outer,
                   .pack = inner,
                   .communication = inner,
                   .unpack = inner,
                   .free = outer,
                   .create_again = outer,
                   .free_again = outer};
    OriginalFormat original;
    original.add({.app = app, .parameters = "", .bytes = 480, .make = {}}, arm, 2);
    return lines_of(original.text()).size() - 1;
  };
  EXPECT_EQ(rows("NAS_LU_x", 0, false), o * (i + 2) + 2);
  EXPECT_EQ(rows("NAS_LU_x", 1, false), o * (3 * i + 2));
  EXPECT_EQ(rows("NAS_LU_x", 2, false), o * (3 * i + 2));
  EXPECT_EQ(rows("NAS_LU_x", 3, false), o * i + 4);
  EXPECT_EQ(rows("SPECFEM3D_mt", 1, true), o * (2 * i + 2) + 1);
  EXPECT_EQ(rows("SPECFEM3D_mt", 4, true), 0U) << "no method of DDTBench's";
}

TEST(OriginalFormat, CountsTheRanksOfFft) {
  ArmResult arm;
  arm.method = &methods()[3];
  arm.inner = 1;
  arm.samples.communication = {1e-6};
  OriginalFormat original;
  original.add({.app = "FFT", .parameters = "", .bytes = 480, .make = {}}, arm, 4);
  EXPECT_NE(original.text().find(" FFT4 "), std::string::npos);
}

}  // namespace
}  // namespace roundtrip::ddtbench
