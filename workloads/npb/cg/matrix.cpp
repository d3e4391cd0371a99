#include "npb/cg/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "npb/common/random.hpp"

namespace roundtrip::npb::cg {
namespace {

constexpr double condition = 0.1;

/// Vectors x_i, concatenated; vector i is start[i] .. start[i + 1].
struct SparseVectors {
  std::vector<std::size_t> start{0};
  std::vector<int> index;
  std::vector<double> value;
};

SparseVectors make_vectors(int n, int nonzeros) {
  SparseVectors vectors;
  const std::size_t total = static_cast<std::size_t>(n) * static_cast<std::size_t>(nonzeros + 1);
  vectors.index.reserve(total);
  vectors.value.reserve(total);
  const double index_range = std::bit_ceil(static_cast<unsigned>(n));
  Random random(common_seed);
  random.skip(1);
  for (int i = 0; i < n; ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(vectors.index.size());
    const auto find = [&](int index) {
      return std::find(vectors.index.begin() + begin, vectors.index.end(), index);
    };
    for (int made = 0; made < nonzeros;) {
      const double value = random.next();
      const int index = static_cast<int>(index_range * random.next());
      if (index >= n || find(index) != vectors.index.end()) continue;
      vectors.index.push_back(index);
      vectors.value.push_back(value);
      ++made;
    }
    if (const auto own = find(i); own != vectors.index.end()) {
      vectors.value[static_cast<std::size_t>(own - vectors.index.begin())] = 0.5;
    } else {
      vectors.index.push_back(i);
      vectors.value.push_back(0.5);
    }
    vectors.start.push_back(vectors.index.size());
  }
  return vectors;
}

/// Calls visit(row, column, value) for each term of each element; indices are within the block.
template <class Visit>
void for_each_term(const SparseVectors& x, const Layout& layout, double shift, const Visit& visit) {
  const int n = static_cast<int>(x.start.size()) - 1;
  const double ratio = std::pow(condition, 1.0 / n);
  double weight = 1;
  for (int i = 0; i < n; ++i, weight *= ratio) {
    const std::size_t begin = x.start[static_cast<std::size_t>(i)];
    const std::size_t end = x.start[static_cast<std::size_t>(i) + 1];
    for (std::size_t a = begin; a < end; ++a) {
      const int row = x.index[a];
      if (row < layout.row_begin() || row >= layout.row_end()) continue;
      for (std::size_t b = begin; b < end; ++b) {
        const int column = x.index[b];
        if (column < layout.column_begin() || column >= layout.column_end()) continue;
        double value = x.value[a] * (x.value[b] * weight);
        if (row == i && column == i) value += condition - shift;
        visit(row - layout.row_begin(), column - layout.column_begin(), value);
      }
    }
  }
}

/// Adds up the terms of the same element and sorts each row by column.
void merge_terms(SparseBlock& block, int columns) {
  std::vector<double> sums(static_cast<std::size_t>(columns));
  std::vector<char> seen(static_cast<std::size_t>(columns));
  std::vector<int> row_columns;
  std::size_t out = 0;
  std::int64_t begin = 0;
  for (std::size_t row = 0; row + 1 < block.first.size(); ++row) {
    row_columns.clear();
    for (auto k = static_cast<std::size_t>(begin);
         k < static_cast<std::size_t>(block.first[row + 1]); ++k) {
      const auto column = static_cast<std::size_t>(block.column[k]);
      if (seen[column] == 0) row_columns.push_back(block.column[k]);
      seen[column] = 1;
      sums[column] += block.value[k];
    }
    begin = block.first[row + 1];
    std::ranges::sort(row_columns);
    for (const int c : row_columns) {
      const auto column = static_cast<std::size_t>(c);
      block.column[out] = c;
      block.value[out++] = sums[column];
      sums[column] = 0;
      seen[column] = 0;
    }
    block.first[row + 1] = static_cast<std::int64_t>(out);
  }
}

}  // namespace

SparseBlock make_matrix(const Layout& layout, int n, int nonzeros, double shift) {
  const SparseVectors vectors = make_vectors(n, nonzeros);
  SparseBlock block;
  block.first.resize(static_cast<std::size_t>(layout.row_end() - layout.row_begin() + 1));
  for_each_term(vectors, layout, shift,
                [&](int row, int, double) { ++block.first[static_cast<std::size_t>(row) + 1]; });
  for (std::size_t i = 1; i < block.first.size(); ++i) block.first[i] += block.first[i - 1];
  block.column.resize(static_cast<std::size_t>(block.first.back()));
  block.value.resize(static_cast<std::size_t>(block.first.back()));
  std::vector<std::int64_t> next(block.first.begin(), block.first.end() - 1);
  for_each_term(vectors, layout, shift, [&](int row, int column, double value) {
    const auto k = static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++);
    block.column[k] = column;
    block.value[k] = value;
  });
  merge_terms(block, layout.column_end() - layout.column_begin());
  return block;
}

}  // namespace roundtrip::npb::cg
