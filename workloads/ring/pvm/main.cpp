#include <pvm3.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/failure.hpp"
#include "core/session.hpp"
#include "ring/pvm/daemon.hpp"
#include "ring/ring.hpp"
#include "ring/token.hpp"

namespace roundtrip::ring {
namespace {

/// The daemons of all PVM transports, stopped with the last of these.
std::shared_ptr<PvmDaemon> daemon_for(const Topology& topology) {
  static std::weak_ptr<PvmDaemon> known;
  auto daemon = known.lock();
  if (!daemon) known = daemon = std::make_shared<PvmDaemon>(topology);
  return daemon;
}

/// PVM, by direct routes between tasks. `encoding`: PvmDataRaw sends the bytes as they are;
/// PvmDataDefault, PVM's default, converts integers to the machine-independent XDR.
template <int encoding>
class PvmPort {
 public:
  PvmPort(const Topology& topology, std::size_t most, std::size_t /*heap*/)
      : topology_(topology), daemon_(daemon_for(topology)), buffer_(most) {}

  void begin(std::size_t bytes) {
    bytes_ = static_cast<int>(bytes);
    integers_ = encoding == PvmDataRaw ? 0 : bytes_ / static_cast<int>(sizeof(int));
    rest_ = bytes_ - integers_ * static_cast<int>(sizeof(int));
  }
  char* held() { return buffer_.data(); }
  void put() {
    pvm_initsend(encoding);
    if (integers_ > 0) pvm_pkint(as_integers(), integers_, 1);
    if (rest_ > 0) pvm_pkbyte(buffer_.data() + bytes_ - rest_, rest_, 1);
    require(pvm_send(daemon_->task(topology_.next()), tag));
  }
  char* get() {
    require(pvm_recv(daemon_->task(topology_.previous()), tag));
    if (integers_ > 0) pvm_upkint(as_integers(), integers_, 1);
    if (rest_ > 0) pvm_upkbyte(buffer_.data() + bytes_ - rest_, rest_, 1);
    return buffer_.data();
  }
  void poison() { fill_poison(std::span(buffer_).first(static_cast<std::size_t>(bytes_)), 0); }
  [[nodiscard]] std::optional<std::string> fault() const { return std::nullopt; }
  void describe(nlohmann::ordered_json& record) const {
    record["pvm"] = {
        {"version", pvm_version()}, {"route", "direct"}, {"daemons", daemon_->nodes()}};
    if (!topology_.one_node()) record["pvm"]["interface"] = topology_.interface();
  }

 private:
  static constexpr int tag = 1 + encoding;

  int* as_integers() { return reinterpret_cast<int*>(buffer_.data()); }
  /// Ranks that wait for the token cannot be notified of a lost peer or daemon: end all.
  static void require(int status) {
    if (status >= 0) return;
    std::fprintf(stderr, "ring-pvm: PVM error %d: a task or the daemon is gone\n", status);
    end_all(Exit::internal);
  }

  const Topology& topology_;
  std::shared_ptr<PvmDaemon> daemon_;
  std::vector<char> buffer_;
  int bytes_ = 0;
  int integers_ = 0;
  int rest_ = 0;
};

/// PVM identifies daemons by their addresses, one per node.
std::optional<std::string> unless_reachable(const Topology& topology) {
  if (topology.one_node()) return std::nullopt;
  if (topology.pretended()) return "needs a network between nodes, they are pretended";
  if (topology.interface().empty()) return "needs --interface, the network between the nodes";
  return std::nullopt;
}

std::vector<Variant> all_variants() {
  std::vector<Variant> variants = mpi_variants();
  variants.push_back(with_reading(variant<PvmPort<PvmDataRaw>>("pvm", unless_reachable)));
  variants.push_back(variant<PvmPort<PvmDataDefault>>("pvm-xdr", unless_reachable));
  return variants;
}

}  // namespace
}  // namespace roundtrip::ring

int main(int argc, char** argv) {
  roundtrip::ring::Ring workload("ring-pvm", roundtrip::ring::all_variants());
  return roundtrip::run_main(argc, argv, workload);
}
