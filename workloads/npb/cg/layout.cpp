#include "npb/cg/layout.hpp"

namespace roundtrip::npb::cg {

Layout::Layout(int n, int rank, int ranks) : n_(n), rank_(rank) {
  while (rows_ * columns_ < ranks) (columns_ == rows_ ? columns_ : rows_) *= 2;
  row_ = rank / columns_;
  column_ = rank % columns_;
}

int Layout::transpose_partner() const {
  return column_ / ratio() * columns_ + ratio() * row_ + column_ % ratio();
}

std::vector<int> Layout::row_partners() const {
  std::vector<int> partners;
  for (int distance = 1; distance < columns_; distance *= 2) {
    partners.push_back(row_ * columns_ + (column_ ^ distance));
  }
  return partners;
}

}  // namespace roundtrip::npb::cg
