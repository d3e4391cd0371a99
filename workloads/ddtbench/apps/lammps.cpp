#include <array>
#include <vector>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/index_list.hpp"
#include "ddtbench/array.hpp"
#include "ddtbench/copy.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Numbers of atoms that a rank sends and owns.
struct Atoms {
  int sent;
  int owned;
};

/// LAMMPS, molecular dynamics: a rank sends the properties of randomly chosen atoms, which the
/// receiver appends to its own atoms: the position (3 values) and `Scalars` properties of one value
/// each, all doubles.
template <std::size_t Scalars>
class Lammps final : public MicroApp {
 public:
  static constexpr std::size_t atom_bytes = (3 + Scalars) * sizeof(double);

  explicit Lammps(const Atoms& atoms)
      : atoms_(atoms), list_(atoms.sent, atoms.owned), x_(3 * all_atoms()) {
    for (std::size_t p = 0; p < Scalars; ++p) scalars_.emplace_back(all_atoms());
  }

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }
  [[nodiscard]] bool absolute() const override { return true; }
  bool shuffle(std::mt19937& random) override {
    list_.shuffle(random);
    return true;
  }

  [[nodiscard]] Region sent() const override {
    Region region;
    for (const int atom : list_.get()) region.add(position(atom), 3 * sizeof(double));
    for (const Array<double>& scalar : scalars_) {
      for (const int atom : list_.get()) region.add(&scalar[index(atom)], sizeof(double));
    }
    return region;
  }

  [[nodiscard]] Region received() const override {
    Region region;
    const auto count = static_cast<std::size_t>(atoms_.sent);
    region.add(position(atoms_.owned), count * 3 * sizeof(double));
    for (const Array<double>& scalar : scalars_) {
      region.add(&scalar[index(atoms_.owned)], count * sizeof(double));
    }
    return region;
  }

  [[nodiscard]] Datatypes commit(Origin origin) const override {
    void* base = origin == Origin::bottom ? MPI_BOTTOM : x_.data();
    const Type chosen_x = indexed_block(list_.times(3), 3, MPI_DOUBLE);
    const Type chosen = indexed_block(list_.get(), 1, MPI_DOUBLE);
    const Type appended_x = contiguous(3 * atoms_.sent, MPI_DOUBLE);
    const Type appended = contiguous(atoms_.sent, MPI_DOUBLE);
    std::vector<Part> from = {{.address = x_.data(), .type = chosen_x}};
    std::vector<Part> to = {{.address = position(atoms_.owned), .type = appended_x}};
    for (const Array<double>& scalar : scalars_) {
      from.push_back({.address = scalar.data(), .type = chosen});
      to.push_back({.address = &scalar[index(atoms_.owned)], .type = appended});
    }
    return two_types(committed(structure(from, base)), base, committed(structure(to, base)), base);
  }

  /// Atom by atom, as the application does.
  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    const auto scalars = places(0);
    for (const int atom : list_.get()) {
      const double* at = position(atom);
      for (int i = 0; i < 3; ++i) *out++ = at[i];
      for (const double* scalar : scalars) *out++ = scalar[atom];
    }
  }

  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    const auto scalars = places(atoms_.owned);
    for (int atom = 0; atom < atoms_.sent; ++atom) {
      double* at = position(atoms_.owned + atom);
      for (int i = 0; i < 3; ++i) at[i] = *in++;
      for (double* scalar : scalars) scalar[atom] = *in++;
    }
  }

  /// Copying the position as one piece gains 4 % with five scalars, and 11 % with three.
  [[nodiscard]] bool has_tuned_loops() const override { return Scalars == 3; }
  void pack_tuned(char* buffer) const override {
    const auto scalars = places(0);
    for (const int atom : list_.get()) {
      copy_piece<3 * sizeof(double)>(buffer, bytes(position(atom)));
      buffer += 3 * sizeof(double);
      for (const double* scalar : scalars) {
        copy_piece<sizeof(double)>(buffer, bytes(scalar + atom));
        buffer += sizeof(double);
      }
    }
  }

  void unpack_tuned(const char* buffer) const override {
    const auto scalars = places(atoms_.owned);
    char* position_to = bytes(position(atoms_.owned));
    for (std::size_t i = 0; i < list_.get().size(); ++i) {
      copy_piece<3 * sizeof(double)>(position_to, buffer);
      position_to += 3 * sizeof(double);
      buffer += 3 * sizeof(double);
      for (double* scalar : scalars) {
        copy_piece<sizeof(double)>(bytes(scalar + i), buffer);
        buffer += sizeof(double);
      }
    }
  }

 private:
  static std::size_t index(int atom) { return static_cast<std::size_t>(atom); }
  static char* bytes(double* value) { return reinterpret_cast<char*>(value); }
  static const char* bytes(const double* value) { return reinterpret_cast<const char*>(value); }

  [[nodiscard]] std::size_t all_atoms() const { return index(atoms_.owned + atoms_.sent); }
  [[nodiscard]] double* position(int atom) const { return &x_[3 * index(atom)]; }

  /// Addresses of `atom`'s scalars. The compiler knows that local copies of them do not change.
  [[nodiscard]] std::array<double*, Scalars> places(int atom) const {
    std::array<double*, Scalars> result{};
    for (std::size_t p = 0; p < Scalars; ++p) result[p] = &scalars_[p][index(atom)];
    return result;
  }

  Atoms atoms_;
  IndexList list_;
  Array<double> x_;
  std::vector<Array<double>> scalars_;
};

/// Scalars: tag, type, mask, charge, molecule.
using LammpsFull = Lammps<5>;
/// Scalars: tag, type, mask.
using LammpsAtomic = Lammps<3>;

template <class App>
void add(Catalogue& catalogue, const char* name, const std::array<Atoms, 3>& sizes) {
  for (const Atoms& atoms : sizes) {
    const auto bytes = App::atom_bytes * static_cast<std::size_t>(atoms.sent);
    add_case<App>(catalogue, name,
                  "atoms=" + std::to_string(atoms.sent) + " of " + std::to_string(atoms.owned),
                  bytes, atoms);
  }
}

}  // namespace

void add_lammps(Catalogue& catalogue) {
  add<LammpsFull>(catalogue, "LAMMPS_full", {{{3062, 3534}, {2243, 2597}, {1662, 1907}}});
  add<LammpsAtomic>(catalogue, "LAMMPS_atomic", {{{243, 4084}, {145, 2157}, {114, 1217}}});
}

}  // namespace roundtrip::ddtbench
