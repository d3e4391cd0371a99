#pragma once

#include <string>

namespace roundtrip::npb {

/// |computed - published| / |published|; infinite for NaN.
double relative_error(double computed, double published);

/// `value` as Fortran's E format writes it: 0.17130235E+02 with 8 `digits`.
std::string fortran_e(double value, int digits);

/// Points of a grid as NPB prints them: `  12x  12x  12`.
std::string grid_size(int nx, int ny, int nz);

/// As Fortran's 1P format with a D exponent: -3.247834652034D+03 with 12 `digits`.
std::string fortran_d(double value, int digits);

}  // namespace roundtrip::npb
