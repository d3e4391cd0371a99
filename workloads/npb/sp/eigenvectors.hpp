#pragma once

#include "npb/cfd/fields.hpp"

namespace roundtrip::npb::sp {

/// Speed of sound at own points and one layer of ghosts.
void speed_of_sound(const cfd::CellFields& fields, cfd::Scalar& speed);

// Changes of variables of rhs at inner points: the Jacobian of direction d is T_d L_d T_d^-1.

/// rhs = T_x^-1 rhs.
void to_characteristics_of_x(cfd::CellFields& fields, const cfd::Scalar& speed);

/// rhs = T_y^-1 T_x rhs, and rhs = T_z^-1 T_y rhs: constant matrices.
void from_x_to_y(cfd::CellFields& fields);
void from_y_to_z(cfd::CellFields& fields);

/// rhs = T_z rhs.
void from_characteristics_of_z(cfd::CellFields& fields, const cfd::Scalar& speed);

}  // namespace roundtrip::npb::sp
