#pragma once

#include <string>
#include <string_view>

namespace roundtrip {

/// Leaf switch of a node, from Slurm's SLURM_TOPOLOGY_ADDR ("core.leaf.node") and
/// SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node"); "" if they name no switch.
std::string leaf_switch(std::string_view address, std::string_view pattern);

}  // namespace roundtrip
