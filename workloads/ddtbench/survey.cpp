#include "ddtbench/survey.hpp"

#include <algorithm>

#include "core/agreement.hpp"
#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/interleaver.hpp"
#include "core/median.hpp"
#include "ddtbench/proof.hpp"

namespace roundtrip::ddtbench {
namespace {

constexpr double most_inner = 10;
constexpr int rounds_wanted = 4;
constexpr std::size_t fewest_rounds = 3;
constexpr std::size_t most_rounds = 300;

struct Arm {
  ArmResult result;
  std::unique_ptr<Method> method;
};

/// Exchanges in one outer iteration.
struct Pace {
  int warm = 1;
  int inner = 2;
};

/// A received word that is not what was sent.
struct Wrong {
  std::size_t arm;
  std::size_t word;
};

class Survey {
 public:
  Survey(const Case& item, MicroApp& app, const Plan& plan, const Ends& ends)
      : item_(item),
        app_(app),
        plan_(plan),
        ends_(ends),
        collective_(app.collective()),
        order_random_(plan.seed),
        list_random_(plan.seed + static_cast<unsigned>(ends.rank)) {
    admit_methods();
    scratch_.resize(has_cold() ? plan.evicted_bytes : 0, 1);
    data_ = regions();
  }

  std::vector<ArmResult> run(double seconds) {
    const double start = now();
    prove_all();
    if (!order_.empty()) {
      set_pace(now() - start, seconds);
      std::size_t rounds = 0;
      std::size_t look = StoppingRule::next_look(0);
      do {
        round();
        ++rounds;
      } while (decide(ends_.comm, [&] { return goes_on(rounds, look, start + seconds); }));
    }
    std::vector<ArmResult> results;
    for (Arm& arm : arms_) results.push_back(std::move(arm.result));
    return results;
  }

 private:
  /// The arms: for each buffering all methods that the MPI library can do.
  void admit_methods() {
    std::vector<Admission> admissions;
    for (const MethodInfo* info : plan_.methods) {
      if (info->is_ours && !app_.has_tuned_loops()) continue;
      methods_.push_back(info);
      admissions.push_back(admit(*info, app_, ends_, item_.bytes));
    }
    if (std::ranges::any_of(plan_.bufferings,
                            [](Buffering b) { return b != Buffering::original; })) {
      // MPI_Pack may ask for more than it fills.
      constexpr std::size_t margin = 4096;
      shared_.emplace(2 * item_.bytes + margin);
    }
    for (const Buffering buffering : plan_.bufferings) {
      for (std::size_t m = 0; m < methods_.size(); ++m) {
        const MethodInfo& info = *methods_[m];
        const Setting setting{.app = app_,
                              .ends = ends_,
                              .bytes = item_.bytes,
                              .shared = buffering == Buffering::original ? nullptr : &*shared_,
                              .pack_origin = admissions[m].pack_origin};
        arms_.push_back({.result = {.buffering = buffering,
                                    .method = &info,
                                    .samples = {},
                                    .skips_unpack = info.name.starts_with("manual") &&
                                                    app_.landing() != nullptr,
                                    .finding = admissions[m].finding},
                         .method = info.make(setting)});
        if (admissions[m].runs) order_.push_back(arms_.size() - 1);
      }
    }
  }

  [[nodiscard]] bool has_cold() const {
    return std::ranges::find(plan_.bufferings, Buffering::cold) != plan_.bufferings.end();
  }

  [[nodiscard]] Transfer regions() const {
    return {.sent = app_.sent(), .received = app_.received(), .in_place = app_.in_place()};
  }

  /// Every method, into memory that holds wrong data.
  void prove_all() {
    for (const std::size_t a : order_) {
      Method& method = *arms_[a].method;
      method.create();
      note(a, prove(method, ends_, collective_, next_seed()));
      method.destroy();
      arms_[a].result.discarded += 1;
      require_right();
    }
  }

  /// How many exchanges an outer iteration has, so that there are a few of them in the time given.
  /// Where one exchange of each method took a good part of it, that one was the warm-up.
  void set_pace(double proof_s, double seconds) {
    constexpr double affordable = 0.1;
    if (decide(ends_.comm, [&] { return proof_s > affordable * seconds; })) {
      pace_ = {.warm = 0, .inner = 1};
      return;
    }
    const double start = now();
    round();
    const double exchange_s = (now() - start) / (pace_.warm + pace_.inner);
    const double left_s = seconds - proof_s - (now() - start);
    int inner =
        static_cast<int>(std::clamp(left_s / (rounds_wanted * exchange_s), 1.0, most_inner));
    MPI_Bcast(&inner, 1, MPI_INT, 0, ends_.comm);
    for (const std::size_t a : order_) {
      arms_[a].result.samples = {};
      arms_[a].result.discarded += pace_.inner;
    }
    pace_.inner = inner;
  }

  /// One outer iteration of every arm.
  void round() {
    order_random_.shuffle(order_);
    for (const std::size_t a : order_) {
      if (app_.shuffle(list_random_)) data_ = regions();
      ArmResult& result = arms_[a].result;
      const unsigned seed = next_seed();
      Transfer transfer;
      Outer outer{
          .warm = pace_.warm, .inner = pace_.inner, .before = {}, .after = {}, .between = {}};
      outer.before = [&] {
        // The app's regions are known already; only the reference has others.
        transfer = result.method->moves_data ? data_ : arms_[a].method->transfer();
        prepare(transfer, ends_, collective_, seed);
      };
      outer.after = [&] { note(a, check(transfer, ends_, collective_, seed)); };
      if (result.buffering != Buffering::original) {
        outer.between = [&] { touch(result.buffering == Buffering::cold); };
      }
      measure(*arms_[a].method, *result.method, ends_, collective_, outer, result.samples);
      result.inner = outer.inner;
      result.discarded += outer.warm;
    }
    require_right();
  }

  /// Leaves memory alike for whatever method comes next; both ends are then about to start.
  void touch(bool evict) {
    data_.sent.rewrite();
    data_.received.read();
    Region out;
    Region in;
    out.add(shared_->out.data(), item_.bytes);
    in.add(shared_->in.data(), item_.bytes);
    out.rewrite();
    in.read();
    if (evict) walk();
    if (collective_) {
      MPI_Barrier(ends_.comm);
    } else if (ends_.rank == 0) {
      MPI_Recv(nullptr, 0, MPI_BYTE, ends_.peer(), 0, ends_.comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(nullptr, 0, MPI_BYTE, ends_.peer(), 0, ends_.comm);
    }
  }

  /// Fills the caches with other memory.
  void walk() {
    constexpr std::size_t cache_line = 64;
    volatile char* scratch = scratch_.data();
    for (std::size_t i = 0; i < scratch_.size(); i += cache_line) {
      scratch[i] = static_cast<char>(scratch[i] + 1);
    }
  }

  [[nodiscard]] bool goes_on(std::size_t rounds, std::size_t& look, double deadline) {
    const auto exchanges_a_round = static_cast<std::size_t>(pace_.inner);
    const bool spent = now() >= deadline || rounds >= most_rounds;
    if (!spent && (rounds < fewest_rounds || rounds * exchanges_a_round < look)) {
      return true;
    }
    look = StoppingRule::next_look(rounds * exchanges_a_round);
    const StoppingRule rule(plan_.precision);
    bool all = true;
    for (const std::size_t a : order_) {
      ArmResult& result = arms_[a].result;
      result.converged = rule.reached(estimate_median(result.samples.round_trips()));
      all = all && result.converged;
    }
    return !all && !spent;
  }

  void note(std::size_t arm, std::optional<std::size_t> word) {
    if (word && !wrong_) wrong_ = Wrong{.arm = arm, .word = *word};
  }

  /// Throws the same on all ends if any of them received wrong data.
  void require_right() {
    struct {
      int wrong;
      int rank;
    } worst{wrong_ ? 1 : 0, ends_.rank};
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_2INT, MPI_MAXLOC, ends_.comm);
    if (worst.wrong == 0) return;
    std::array<std::uint64_t, 2> place = {wrong_ ? wrong_->arm : 0, wrong_ ? wrong_->word : 0};
    MPI_Bcast(place.data(), 2, MPI_UINT64_T, worst.rank, ends_.comm);
    int element_bytes = 1;
    MPI_Type_size(app_.element(), &element_bytes);
    const auto words = static_cast<std::uint64_t>(element_bytes) / sizeof(std::uint32_t);
    const ArmResult& arm = arms_[place[0]].result;
    throw Failure(Exit::wrong_data,
                  "wrong data: " + item_.app + " of " + std::to_string(item_.bytes) +
                      " bytes, method " + std::string(arm.method->name) + ", buffers " +
                      buffering_names()[static_cast<std::size_t>(arm.buffering)] + ", element " +
                      std::to_string(place[1] / words) + " at rank " + std::to_string(worst.rank));
  }

  /// The messages of two batches differ in every word.
  unsigned next_seed() {
    seed_ += 2 * static_cast<unsigned>(ends_.size);
    return seed_;
  }

  const Case& item_;
  MicroApp& app_;
  const Plan& plan_;
  Ends ends_;
  bool collective_;
  Interleaver order_random_;
  std::mt19937 list_random_;
  std::optional<Buffers> shared_;
  std::vector<char> scratch_;
  Transfer data_;
  std::vector<const MethodInfo*> methods_;  ///< of the plan, those that the app has
  std::vector<Arm> arms_;
  std::vector<std::size_t> order_;  ///< of the arms that run
  std::optional<Wrong> wrong_;
  Pace pace_;
  unsigned seed_ = 0;
};

}  // namespace

const std::vector<std::string>& buffering_names() {
  static const std::vector<std::string> names = {"original", "same", "cold"};
  return names;
}

std::vector<ArmResult> survey(const Case& item, MicroApp& app, const Plan& plan, const Ends& ends,
                              double seconds) {
  return Survey(item, app, plan, ends).run(seconds);
}

}  // namespace roundtrip::ddtbench
