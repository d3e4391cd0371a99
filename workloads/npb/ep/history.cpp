// Made by record_history.py.
#include "npb/ep/ep.hpp"

namespace roundtrip::npb::ep {

const Histories& histories() {
  static const Histories recorded = {{'S',
                                      {{{"sum of x", 3.2e-13},
                                        {"sum of y", 5.9e-13},
                                        {"count 0", 0.0e+00},
                                        {"count 1", 0.0e+00},
                                        {"count 2", 0.0e+00},
                                        {"count 3", 0.0e+00},
                                        {"count 4", 0.0e+00},
                                        {"count 5", 0.0e+00},
                                        {"count 6", 0.0e+00},
                                        {"count 7", 0.0e+00},
                                        {"count 8", 0.0e+00},
                                        {"count 9", 0.0e+00}},
                                       {-3247.834652034624, -6958.40707838283, 6140517, 5865300,
                                        1100361, 68546, 1648, 17, 0, 0, 0, 0}}},
                                     {'W',
                                      {{{"sum of x", 7.0e-13},
                                        {"sum of y", 6.2e-13},
                                        {"count 0", 0.0e+00},
                                        {"count 1", 0.0e+00},
                                        {"count 2", 0.0e+00},
                                        {"count 3", 0.0e+00},
                                        {"count 4", 0.0e+00},
                                        {"count 5", 0.0e+00},
                                        {"count 6", 0.0e+00},
                                        {"count 7", 0.0e+00},
                                        {"count 8", 0.0e+00},
                                        {"count 9", 0.0e+00}},
                                       {-2863.319731646087, -6320.053679108687, 12281576, 11729692,
                                        2202726, 137368, 3371, 36, 0, 0, 0, 0}}},
                                     {'A',
                                      {{{"sum of x", 5.5e-12},
                                        {"sum of y", 7.1e-13},
                                        {"count 0", 0.0e+00},
                                        {"count 1", 0.0e+00},
                                        {"count 2", 0.0e+00},
                                        {"count 3", 0.0e+00},
                                        {"count 4", 0.0e+00},
                                        {"count 5", 0.0e+00},
                                        {"count 6", 0.0e+00},
                                        {"count 7", 0.0e+00},
                                        {"count 8", 0.0e+00},
                                        {"count 9", 0.0e+00}},
                                       {-4295.875165632726, -15807.32573678593, 98257395, 93827014,
                                        17611549, 1110028, 26536, 245, 0, 0, 0, 0}}}};
  return recorded;
}

}  // namespace roundtrip::npb::ep
