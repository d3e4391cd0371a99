#include "ddtbench/catalogue.hpp"

#include <algorithm>

#include "ddtbench/apps/apps.hpp"

namespace roundtrip::ddtbench {
namespace {

Catalogue without_fft() {
  Catalogue catalogue;
  add_wrf_vec(catalogue);
  add_wrf_sa(catalogue);
  add_milc(catalogue);
  add_nas_lu_x(catalogue);
  add_nas_lu_y(catalogue);
  add_nas_mg_x(catalogue);
  add_nas_mg_y(catalogue);
  add_nas_mg_z(catalogue);
  add_lammps(catalogue);
  add_specfem3d_oc(catalogue);
  add_specfem3d_cm(catalogue);
  add_specfem3d_mt(catalogue);
  return catalogue;
}

}  // namespace

std::vector<std::string> app_names() {
  std::vector<std::string> names;
  for (const Case& item : without_fft()) {
    if (std::ranges::find(names, item.app) == names.end()) names.push_back(item.app);
  }
  names.emplace_back("FFT");
  return names;
}

Catalogue select(const Selection& selection, int ranks) {
  Catalogue all = without_fft();
  const auto wanted = [&](const std::string& app) {
    return std::ranges::find(selection.apps, app) != selection.apps.end();
  };
  // Only if selected: its matrix cannot be divided among every number of ranks.
  if (wanted("FFT")) add_fft(all, ranks);
  std::erase_if(all, [&](const Case& item) { return !wanted(item.app); });
  if (!selection.largest_only) return all;
  Catalogue largest;
  for (const Case& item : all) {
    if (largest.empty() || largest.back().app != item.app) {
      largest.push_back(item);
    } else if (item.bytes > largest.back().bytes) {
      largest.back() = item;
    }
  }
  return largest;
}

}  // namespace roundtrip::ddtbench
