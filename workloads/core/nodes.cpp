#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "core/connections.hpp"
#include "core/node.hpp"
#include "core/session.hpp"

namespace roundtrip {

using nlohmann::ordered_json;

ordered_json nodes_of(const Session& session, const SentBytes& before) {
  ordered_json mine = read_node("/");
  mine.update(traffic_since(before));
  mine["tcp_bytes"] = tcp_bytes();
  const auto texts = session.gather(mine.dump());
  ordered_json nodes = ordered_json::array();
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::string& host = session.placement()[rank].host;
    if (!seen.insert(host).second) continue;
    ordered_json node = {{"host", host}};
    node.update(ordered_json::parse(texts[rank]));
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace roundtrip
