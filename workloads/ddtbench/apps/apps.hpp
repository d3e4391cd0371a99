#pragma once

#include "ddtbench/catalogue.hpp"

namespace roundtrip::ddtbench {

/// Each function appends the cases of one micro-app, one for each parameter set.
void add_wrf_vec(Catalogue& catalogue);
void add_wrf_sa(Catalogue& catalogue);
void add_milc(Catalogue& catalogue);
void add_nas_lu_x(Catalogue& catalogue);
void add_nas_lu_y(Catalogue& catalogue);
void add_nas_mg_x(Catalogue& catalogue);
void add_nas_mg_y(Catalogue& catalogue);
void add_nas_mg_z(Catalogue& catalogue);
void add_lammps(Catalogue& catalogue);
void add_specfem3d_oc(Catalogue& catalogue);
void add_specfem3d_cm(Catalogue& catalogue);
void add_specfem3d_mt(Catalogue& catalogue);
void add_fft(Catalogue& catalogue, int ranks);

/// Appends a case whose micro-app is `App(parameters)`.
template <class App, class Parameters>
void add_case(Catalogue& catalogue, const char* name, const std::string& text, std::size_t bytes,
              const Parameters& parameters) {
  catalogue.push_back({.app = name, .parameters = text, .bytes = bytes, .make = [parameters] {
                         return std::make_unique<App>(parameters);
                       }});
}

}  // namespace roundtrip::ddtbench
