#include "core/identity.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_text.hpp"
#include "core/loaded.hpp"
#include "core/simulation.hpp"

namespace roundtrip {
namespace {

using nlohmann::ordered_json;

}  // namespace

ordered_json read_identity() {
  const std::string device = mpi_device();
  ordered_json identity = {
      {"library", mpi_library()},
      {"standard", mpi_standard()},
      {"device", device.empty() ? ordered_json(nullptr) : ordered_json(device)},
      {"file", nullptr},
      {"build", nullptr},
      {"program_sha256", nullptr},
      {"preload", nullptr}};
  if constexpr (!simulated) {
    identity.update(describe_loaded());
    if (const auto digest = sha256_of("/proc/self/exe")) identity["program_sha256"] = *digest;
  }
  return identity;
}

ordered_json identities_of(const Session& session,
                           const std::map<std::string, std::string>& libraries) {
  const char* const node = std::getenv("SLURMD_NODENAME");
  ordered_json mine = {
      {"slurm_node", node == nullptr ? ordered_json(nullptr) : ordered_json(node)}};
  mine.update(read_identity());
  mine["libraries"] = libraries;
  const auto texts = session.gather(json_text(mine));
  ordered_json all = ordered_json::array();
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string& host = session.placement()[rank].host;
    const auto [place, is_new] = places.try_emplace({host, texts[rank]}, all.size());
    if (is_new) {
      ordered_json entry = {{"host", host}, {"ranks", ordered_json::array()}};
      entry.update(ordered_json::parse(texts[rank]));
      all.push_back(std::move(entry));
    }
    all[place->second]["ranks"].push_back(rank);
  }
  return all;
}

}  // namespace roundtrip
