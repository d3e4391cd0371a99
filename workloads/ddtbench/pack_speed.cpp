#include "ddtbench/pack_speed.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "core/median.hpp"
#include "ddtbench/array.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Mean time of one `action` over `repeats` repetitions, seconds.
template <class Action>
double time_of(int repeats, Action action) {
  const double start = now();
  for (int i = 0; i < repeats; ++i) action();
  return (now() - start) / repeats;
}

}  // namespace

PackSpeed measure_pack_speed(const Case& item, double seconds) {
  constexpr std::size_t fewest = 7;
  constexpr double batch_s = 50e-6;
  const auto app = item.make();
  const Array<char> buffer(item.bytes);
  const Array<char> other(item.bytes);
  app->sent().fill(0);
  app->received().fill(1);
  std::memset(other.data(), 0, item.bytes);
  const auto pack = [&] { app->pack(buffer.data()); };
  const auto unpack = [&] { app->unpack(buffer.data()); };
  const auto tuned_pack = [&] { app->pack_tuned(buffer.data()); };
  const auto tuned_unpack = [&] { app->unpack_tuned(buffer.data()); };
  // A volatile pointer, because the compiler could otherwise remove a copy that nobody reads.
  char* volatile to = other.data();
  const auto copy = [&] { std::memcpy(to, buffer.data(), item.bytes); };

  pack();
  copy();
  const int repeats = static_cast<int>(std::clamp(batch_s / time_of(1, copy), 1.0, 10'000.0));
  std::vector<double> packs;
  std::vector<double> unpacks;
  std::vector<double> tuned_packs;
  std::vector<double> tuned_unpacks;
  std::vector<double> copies;
  for (const double end = now() + seconds; now() < end || packs.size() < fewest;) {
    packs.push_back(time_of(repeats, pack));
    tuned_packs.push_back(time_of(repeats, tuned_pack));
    unpacks.push_back(time_of(repeats, unpack));
    tuned_unpacks.push_back(time_of(repeats, tuned_unpack));
    copies.push_back(time_of(repeats, copy));
  }
  return {.pack_s = estimate_median(packs).median,
          .unpack_s = estimate_median(unpacks).median,
          .tuned_pack_s = estimate_median(tuned_packs).median,
          .tuned_unpack_s = estimate_median(tuned_unpacks).median,
          .copy_s = estimate_median(copies).median};
}

}  // namespace roundtrip::ddtbench
