#include "ddtbench/measure.hpp"

#include "core/clock.hpp"

namespace roundtrip::ddtbench {
namespace {

/// A clock that adds the time since its last reading to an epoch.
class Stopwatch {
 public:
  void restart() { last_ = now(); }
  void stamp(std::vector<double>& epoch) {
    const double time = now();
    epoch.push_back(time - last_);
    last_ = time;
  }

 private:
  double last_ = now();
};

/// One ping-pong on rank 0, or one all-to-all in both directions on any rank.
void exchange_timed(Method& method, const MethodInfo& info, bool collective, Stopwatch& watch,
                    Samples& samples) {
  if (info.packs) {
    method.pack();
    watch.stamp(samples.pack);
  }
  if (collective) {
    method.exchange();
    method.unpack();
    method.turn();
    method.pack();
    method.exchange();
  } else {
    method.send();
    method.receive();
  }
  watch.stamp(samples.communication);
  if (info.packs) {
    method.unpack();
    watch.stamp(samples.unpack);
  }
  if (collective) method.turn();
}

void reply(Method& method) {
  method.receive();
  method.unpack();
  method.pack();
  method.send();
}

void reserve(Samples& samples, int more) {
  const std::size_t size = samples.communication.size() + static_cast<std::size_t>(more);
  for (auto* epoch : {&samples.pack, &samples.communication, &samples.unpack}) {
    if (epoch->capacity() < size) epoch->reserve(2 * size);
  }
}

}  // namespace

double Samples::round_trip(std::size_t i) const {
  return pack.empty() ? communication[i] : pack[i] + communication[i] + unpack[i];
}

void measure(Method& method, const MethodInfo& info, const Ends& ends, bool collective,
             const Outer& outer, Samples& samples) {
  reserve(samples, outer.inner);
  Samples discarded;
  reserve(discarded, outer.warm);
  const auto exchange = [&](Stopwatch& watch, Samples& into) {
    if (collective || ends.rank == 0) {
      exchange_timed(method, info, collective, watch, into);
    } else {
      reply(method);
    }
  };
  const auto overhead = [&](std::vector<double>& epoch) -> std::vector<double>& {
    return info.creates ? epoch : discarded.create;
  };

  Stopwatch watch;
  method.create();
  watch.stamp(overhead(samples.create));
  outer.before();
  for (int i = 0; i < outer.warm; ++i) exchange(watch, discarded);
  watch.restart();
  for (int i = 0; i < outer.inner; ++i) {
    if (outer.between) {
      outer.between();
      watch.restart();
    }
    exchange(watch, samples);
  }
  outer.after();
  watch.restart();
  method.destroy();
  watch.stamp(overhead(samples.free));
  method.create();
  watch.stamp(overhead(samples.create_again));
  method.destroy();
  watch.stamp(overhead(samples.free_again));
}

}  // namespace roundtrip::ddtbench
