#pragma once

#include <string>
#include <string_view>

namespace roundtrip {

/// The switch that a node hangs on, by Slurm's SLURM_TOPOLOGY_ADDR ("core.leaf.node") and
/// SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node"); "" where these name none.
std::string leaf_switch(std::string_view address, std::string_view pattern);

}  // namespace roundtrip
