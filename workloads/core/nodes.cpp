#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "core/node.hpp"
#include "core/session.hpp"

namespace roundtrip {

using nlohmann::ordered_json;

ordered_json nodes_of(const Session& session, const SentBytes& before) {
  ordered_json mine = read_node("/");
  mine["sent_bytes"] = ordered_json::object();
  mine["interfaces"] = ordered_json::object();
  for (const auto& [name, bytes] : read_sent_bytes("/")) {
    const auto earlier = before.find(name);
    if (earlier != before.end() && bytes >= earlier->second) {
      mine["sent_bytes"][name] = bytes - earlier->second;
      if (bytes > earlier->second) mine["interfaces"][name] = read_interface("/", name);
    }
  }
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
