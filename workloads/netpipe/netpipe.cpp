#include "netpipe/netpipe.hpp"

#include <algorithm>
#include <boost/version.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/failure.hpp"
#include "netpipe/exact.hpp"
#include "netpipe/transports.hpp"

namespace roundtrip::netpipe {
namespace {

using nlohmann::ordered_json;

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
  app.add_option("--precision", precision_percent_,
                 "Percent of the median that its 95 % interval may reach to either side")
      ->capture_default_str();
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
  require(std::isfinite(precision_percent_) && precision_percent_ > 0,
          "--precision: must be a positive percentage");
  require(offsets_[0] >= 0 && offsets_[0] <= most && offsets_[1] >= 0 && offsets_[1] <= most,
          "--offsets: must not be negative, nor above " + std::to_string(most));
}

std::vector<Variant> NetPipe::chosen() const {
  std::vector<Variant> variants;
  for (const std::string& name : names_) {
    variants.push_back(*std::ranges::find(variants_, name, &Variant::name));
  }
  return variants;
}

void NetPipe::run(Launch& launch) {
  const Session& session = launch.session;
  const int last = session.size() - 1;
  const bool active = session.root() || session.rank() == last;
  std::optional<Buffers> buffers;
  session.settle([&] {
    if (!active) return;
    buffers.emplace(layout_, mode_,
                    Offsets{.send = static_cast<std::size_t>(offsets_[0]),
                            .receive = static_cast<std::size_t>(offsets_[1])},
                    static_cast<std::size_t>(range_.end + range_.perturbation), session.root());
  });
  session.settle([&] {
    if (!active) return;
    const Peer peer{.comm = session.world(), .rank = session.root() ? last : 0};
    Pair pair(chosen(), peer, mode_, session.root(), *buffers);
    if (!session.root()) return pair.follow();
    try {
      if (!exact_variant_.empty()) {
        run_exact(range_, mode_, pair);
      } else {
        survey(launch, pair);
      }
    } catch (const Failure&) {
      pair.stop();
      throw;
    }
    pair.stop();
  });
}

void NetPipe::survey(Launch& launch, Pair& pair) {
  constexpr double percent = 100;
  Survey survey({.points = size_schedule(range_),
                 .variants = names_,
                 .case_name = mode_name_ + '/' + layout_name_,
                 .mode = mode_,
                 .precision = precision_percent_ / percent},
                pair, launch);
  survey.run();
  record(launch, survey);
  constexpr std::size_t column = 18;
  std::printf("Median %s of one message, microseconds (* = not within %g %%)\n%s",
              mode_ == Mode::pingpong ? "half round trip" : "time", precision_percent_,
              median_table(names_, survey.results(), column).c_str());
}

void NetPipe::record(Launch& launch, const Survey& survey) const {
  launch.record["boost"] = boost_version();
  launch.record["warmup_discarded"] = survey.discarded();
  ordered_json points = ordered_json::array();
  for (const PointResult& result : survey.results()) {
    points.push_back(point_record(mode_name_ + '/' + layout_name_, result));
  }
  launch.record["points"] = std::move(points);
}

std::vector<Variant> study_variants() {
  return {variant<MpiTransport>(), variant<BoostTransport>(), variant<MpiDatatypeTransport>(),
          variant<BoostDatatypeTransport>(), variant<BoostSerializedTransport>()};
}

}  // namespace roundtrip::netpipe
