#pragma once

#include <cstddef>
#include <vector>

namespace roundtrip::npb::cg {

/// Consecutive elements.
struct Range {
  std::size_t begin;
  std::size_t count;
};

/// The ranks as a grid of `rows` x `columns`, both powers of two; columns = rows or 2 * rows.
/// Rank r is at (r / columns, r % columns) and has that block of the matrix.
///
/// A vector has one of two layouts. By columns: all ranks of grid column c have part c (operands).
/// By rows: all ranks of grid row r have part r (results of the product, summed over the row).
class Layout {
 public:
  Layout(int n, int rank, int ranks);

  [[nodiscard]] int row_begin() const { return part(row_ * ratio()); }
  [[nodiscard]] int row_end() const { return part((row_ + 1) * ratio()); }
  [[nodiscard]] int column_begin() const { return part(column_); }
  [[nodiscard]] int column_end() const { return part(column_ + 1); }

  /// The partner of this rank in the transpose of a vector from rows to columns.
  [[nodiscard]] int transpose_partner() const;

  /// Ranges of this rank's rows, counted from the first: the rows that the transpose partner needs,
  /// and the rows that the transpose partner of the first row partner needs. Each is half of the
  /// rows, or all rows if the grid is square.
  [[nodiscard]] Range kept_rows() const { return rows_of_part(column_ % ratio()); }
  [[nodiscard]] Range sent_rows() const { return rows_of_part(ratio() - 1 - column_ % ratio()); }

  /// Partners of the pairwise sums over this grid row, one for each step. All partners after the
  /// first need the same half of the rows as this rank.
  [[nodiscard]] std::vector<int> row_partners() const;

 private:
  [[nodiscard]] int ratio() const { return columns_ / rows_; }
  [[nodiscard]] Range rows_of_part(int i) const {
    const int part_of_row = row_ * ratio() + i;
    return {static_cast<std::size_t>(part(part_of_row) - row_begin()),
            static_cast<std::size_t>(part(part_of_row + 1) - part(part_of_row))};
  }
  [[nodiscard]] int part(int column) const {
    return static_cast<int>(static_cast<long long>(n_) * column / columns_);
  }

  int n_;
  int rank_;
  int rows_ = 1;
  int columns_ = 1;
  int row_ = 0;
  int column_ = 0;
};

}  // namespace roundtrip::npb::cg
