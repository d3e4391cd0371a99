#include "npb/is/published.hpp"

#include <map>

namespace roundtrip::npb::is {
namespace {

const std::map<char, Parameters> classes = {
    {'S', {16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}}},
    {'W',
     {20,
      16,
      10,
      {357773, 934767, 875723, 898999, 404505},
      {1249, 11698, 1039987, 1043896, 1048018}}},
    {'A',
     {23,
      19,
      10,
      {2112377, 662041, 5336171, 3642833, 4250760},
      {104, 17523, 123928, 8288932, 8388264}}},
    {'B',
     {25,
      21,
      10,
      {41869, 812306, 5102857, 18232239, 26860214},
      {33422937, 10244, 59149, 33135281, 99}}},
    {'C',
     {27,
      23,
      10,
      {44172927, 72999161, 74326391, 129606274, 21736814},
      {61147, 882988, 266290, 133997595, 133525895}}},
};

}  // namespace

const Parameters& parameters(char problem_class) {
  return classes.at(problem_class);
}

std::int64_t published_rank(char problem_class, std::size_t test, int iteration) {
  const std::int64_t base = parameters(problem_class).rank[test];
  switch (problem_class) {
    case 'W':
      return test < 2 ? base + (iteration - 2) : base - iteration;
    case 'A':
      return test <= 2 ? base + (iteration - 1) : base - (iteration - 1);
    case 'B':
      return test == 1 || test == 2 || test == 4 ? base + iteration : base - iteration;
    default:
      return test <= 2 ? base + iteration : base - iteration;
  }
}

}  // namespace roundtrip::npb::is
