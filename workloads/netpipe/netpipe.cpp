#include "netpipe/netpipe.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/version.hpp>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/failure.hpp"
#include "core/launch.hpp"
#include "core/simulation.hpp"
#include "core/subset.hpp"
#include "core/survey.hpp"
#include "netpipe/exact.hpp"
#include "netpipe/transports.hpp"

namespace roundtrip::netpipe {
namespace {

const std::map<std::string, Mode> modes = {
    {"pingpong", Mode::pingpong}, {"stream", Mode::stream}, {"bidirectional", Mode::bidirectional}};
const std::map<std::string, Layout> layouts = {{"same", Layout::same},
                                               {"no-cache", Layout::no_cache}};

void require(bool condition, const std::string& complaint) {
  if (!condition) throw Failure(Exit::usage, complaint);
}

std::string boost_version() {
  return std::to_string(BOOST_VERSION / 100'000) + '.' +
         std::to_string(BOOST_VERSION / 100 % 1000) + '.' + std::to_string(BOOST_VERSION % 100);
}

}  // namespace

NetPipe::NetPipe(std::vector<Variant> variants) : variants_(std::move(variants)) {
  for (const Variant& variant : variants_) names_.push_back(variant.name);
}

std::string NetPipe::description() const {
  return "Message time over size between the first and the last rank (NetPIPE), for raw MPI and "
         "Boost.MPI";
}

void NetPipe::declare(CLI::App& app) {
  app.add_option("--mode", mode_name_, "What is timed")
      ->check(CLI::IsMember(&modes))
      ->capture_default_str();
  app.add_option("--buffers", layout_name_, "One place for messages, or spread to avoid the caches")
      ->check(CLI::IsMember(&layouts))
      ->capture_default_str();
  app.add_option("--variants", names_, "Ways to send, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names_))
      ->capture_default_str();
  app.add_option("--start", range_.start, "Smallest message, bytes")->capture_default_str();
  app.add_option("--end", range_.end, "Largest message, bytes, not counting the perturbation")
      ->capture_default_str();
  app.add_option("--perturbation", range_.perturbation,
                 "Also measure this many bytes below and above each size; 0: do not")
      ->capture_default_str();
  precision_.declare(app);
  app.add_option("--offsets", offsets_, "Offsets S,R of send and receive buffers, bytes")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->expected(2);
  auto* exact = app.add_option_function<std::vector<std::string>>(
      "--exact",
      [this](const std::vector<std::string>& given) {
        exact_variant_ = given.empty() || given[0].empty() ? "mpi" : given[0];
      },
      "Follow NetPIPE 3.7.2 exactly and print its three columns, for this variant (mpi unless "
      "given)");
  exact->expected(0, 1)->type_name("[VARIANT]");
  for (const char* other : {"--samples", "--budget", "--seed", "--variants", "--precision"}) {
    exact->excludes(app.get_option(other));
  }
}

void NetPipe::check_flags() {
  mode_ = modes.at(mode_name_);
  layout_ = layouts.at(layout_name_);
  if (!exact_variant_.empty()) {
    const auto named = [&](const Variant& variant) { return variant.name == exact_variant_; };
    require(std::ranges::any_of(variants_, named), "--exact: no variant " + exact_variant_);
    names_ = {exact_variant_};
  }
  for (const std::string& name : names_) {
    require(std::ranges::count(names_, name) == 1, "--variants: " + name + " is named twice");
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  require(range_.start >= 1, "--start: must be at least 1 byte");
  require(range_.end >= range_.start, "--end: must not be smaller than --start");
  require(range_.perturbation >= 0, "--perturbation: must not be negative");
  require(range_.perturbation <= most && range_.end <= most - range_.perturbation,
          "--end: an MPI message holds at most " + std::to_string(most) + " bytes");
  precision_.check();
  require(offsets_[0] >= 0 && offsets_[0] <= most && offsets_[1] >= 0 && offsets_[1] <= most,
          "--offsets: must not be negative, nor above " + std::to_string(most));
}

void NetPipe::run(Launch& launch) {
  const Session& session = launch.session;
  const int last = session.size() - 1;
  const Subset pair(session.world(), session.root() || session.rank() == last);
  std::optional<Buffers> buffers;
  session.agree([&] {
    if (!pair.member()) return;
    buffers.emplace(layout_, mode_,
                    Offsets{.send = static_cast<std::size_t>(offsets_[0]),
                            .receive = static_cast<std::size_t>(offsets_[1])},
                    static_cast<std::size_t>(range_.end + range_.perturbation), session.root());
  });
  session.agree([&] {
    if (!pair.member()) return;
    const End end{.peer = {.comm = session.world(), .rank = session.root() ? last : 0},
                  .mode = mode_,
                  .transmitter = session.root(),
                  .buffers = *buffers};
    Arms arms;
    for (const std::string& name : names_) {
      arms.push_back(std::ranges::find(variants_, name, &Variant::name)->make(end));
    }
    if (exact_variant_.empty()) {
      measure(launch, arms, pair.get());
    } else {
      run_exact(range_, mode_, arms, pair.get());
    }
  });
}

void NetPipe::measure(Launch& launch, const Arms& arms, MPI_Comm pair) const {
  const std::vector<SizePoint> points = size_schedule(range_);
  std::vector<std::int64_t> sizes;
  sizes.reserve(points.size());
  for (const SizePoint& point : points) sizes.push_back(point.size);
  // Simulated round trips are identical, so that more only cost time. The other modes need several:
  // the first fill a stream, and ends that start at different times time one exchange too short.
  const bool one_is_enough = simulated && mode_ == Mode::pingpong;
  const SurveyPlan plan{
      .study = "netpipe",
      .case_name = mode_name_ + '/' + layout_name_,
      .metric = mode_ == Mode::stream ? metrics::time_per_message : metrics::half_round_trip_time,
      .sizes = std::move(sizes),
      .may_be_coarse = [&](std::size_t i) { return points[i].is_centre(); },
      .sampling = {.precision = precision_.relative(), .parts = mode_ == Mode::pingpong ? 2 : 1},
      .pace = {.shortest_s = one_is_enough ? 0 : Pace{}.shortest_s}};
  const SurveyResult result = survey(plan, arms, pair, launch);
  if (!launch.session.root()) return;
  launch.record["boost"] = boost_version();
  record_points(launch, plan, result);
  constexpr std::size_t column = 18;
  std::printf("Median %s of one message, microseconds (* = not within %g %%)\n%s",
              mode_ == Mode::pingpong ? "half round trip" : "time", precision_.percent,
              median_table(names_, result.points, column).c_str());
}

std::vector<Variant> study_variants() {
  return {variant<MpiTransport>(), variant<BoostTransport>(), variant<MpiDatatypeTransport>(),
          variant<BoostDatatypeTransport>(), variant<BoostSerializedTransport>()};
}

}  // namespace roundtrip::netpipe
