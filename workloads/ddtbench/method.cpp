#include "ddtbench/method.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace roundtrip::ddtbench {
namespace {

constexpr int tag = 1;

/// Contiguous buffers, the method's own or shared ones. As in the original, ping-pong sends and
/// receives in one buffer if it is the method's own; all-to-all needs two.
class Packing {
 public:
  void open(const Setting& setting, std::size_t bytes) {
    if (setting.shared != nullptr) {
      if (bytes > setting.shared->capacity) {
        throw std::logic_error("a packed message needs " + std::to_string(bytes) + " bytes");
      }
      out_ = setting.shared->out.data();
      in_ = setting.shared->in.data();
      return;
    }
    first_.emplace(bytes);
    if (setting.app.collective()) second_.emplace(bytes);
    out_ = first_->data();
    in_ = second_ ? second_->data() : out_;
  }
  void close() {
    first_.reset();
    second_.reset();
  }
  [[nodiscard]] char* out() const { return out_; }
  [[nodiscard]] char* in() const { return in_; }

 private:
  std::optional<Array<char>> first_;
  std::optional<Array<char>> second_;
  char* out_ = nullptr;
  char* in_ = nullptr;
};

int element_count(const Setting& setting) {
  int element_bytes = 1;
  MPI_Type_size(setting.app.element(), &element_bytes);
  return static_cast<int>(setting.bytes) / element_bytes;
}

void send_contiguous(const Setting& setting, const char* data, int count) {
  MPI_Send(data, count, setting.app.element(), setting.ends.peer(), tag, setting.ends.comm);
}

void receive_contiguous(const Setting& setting, char* data, int count) {
  MPI_Recv(data, count, setting.app.element(), setting.ends.peer(), tag, setting.ends.comm,
           MPI_STATUS_IGNORE);
}

void exchange_contiguous(const Setting& setting, const char* out, char* in, int count) {
  const int block = count / setting.ends.size;
  MPI_Alltoall(out, block, setting.app.element(), in, block, setting.app.element(),
               setting.ends.comm);
}

/// MPI moves the data between the app's arrays, by the datatypes.
class MpiDdt final : public Method {
 public:
  using Method::Method;

  void create() override { types_ = setting().app.commit(Origin::bottom); }
  void destroy() override { types_ = {}; }

  void send() override {
    const auto& [base, count, type] = types_.send;
    MPI_Send(base, count, type, setting().ends.peer(), tag, setting().ends.comm);
  }
  void receive() override {
    const auto& [base, count, type] = types_.receive;
    MPI_Recv(base, count, type, setting().ends.peer(), tag, setting().ends.comm, MPI_STATUS_IGNORE);
  }
  void exchange() override {
    MPI_Alltoall(types_.send.base, 1, types_.send.type, types_.receive.base, 1, types_.receive.type,
                 setting().ends.comm);
  }
  void turn() override {
    std::swap(types_.send.base, types_.receive.base);
    setting().app.turn();
  }

 private:
  Datatypes types_;
};

/// The application's loops pack into a contiguous buffer of its element type.
class Manual : public Method {
 public:
  explicit Manual(const Setting& setting) : Method(setting), count_(element_count(setting)) {}

  void create() override {
    packing_.open(setting(), setting().bytes);
    landing_ = setting().app.landing();
    if (landing_ == nullptr) landing_ = packing_.in();
  }
  void destroy() override { packing_.close(); }

  void pack() override { setting().app.pack(packing_.out()); }
  void unpack() override { setting().app.unpack(landing_); }

  void send() override { send_contiguous(setting(), packing_.out(), count_); }
  void receive() override { receive_contiguous(setting(), landing_, count_); }
  void exchange() override {
    exchange_contiguous(setting(), packing_.out(), packing_.in(), count_);
  }
  void turn() override { setting().app.turn(); }

 protected:
  [[nodiscard]] char* out() const { return packing_.out(); }
  [[nodiscard]] const char* in() const { return landing_; }

 private:
  Packing packing_;
  char* landing_ = nullptr;
  int count_;
};

/// Manual with tuned loops.
class ManualTuned final : public Manual {
 public:
  using Manual::Manual;

  void pack() override { setting().app.pack_tuned(out()); }
  void unpack() override { setting().app.unpack_tuned(in()); }
};

/// MPI_Pack packs into a contiguous buffer, by the datatypes.
class MpiPackDdt final : public Method {
 public:
  using Method::Method;

  void create() override {
    types_ = setting().app.commit(setting().pack_origin);
    MPI_Pack_size(types_.send.count, types_.send.type, setting().ends.comm, &capacity_);
    packing_.open(setting(), static_cast<std::size_t>(capacity_));
  }
  void destroy() override {
    types_ = {};
    packing_.close();
  }

  void pack() override {
    const auto& [base, count, type] = types_.send;
    packed_ = 0;
    MPI_Pack(base, count, type, packing_.out(), capacity_, &packed_, setting().ends.comm);
  }
  void unpack() override {
    const auto& [base, count, type] = types_.receive;
    int position = 0;
    MPI_Unpack(packing_.in(), capacity_, &position, base, count, type, setting().ends.comm);
  }

  void send() override {
    MPI_Send(packing_.out(), packed_, MPI_PACKED, setting().ends.peer(), tag, setting().ends.comm);
  }
  void receive() override {
    MPI_Recv(packing_.in(), capacity_, MPI_PACKED, setting().ends.peer(), tag, setting().ends.comm,
             MPI_STATUS_IGNORE);
  }
  void exchange() override {
    const int block = packed_ / setting().ends.size;
    MPI_Alltoall(packing_.out(), block, MPI_PACKED, packing_.in(), block, MPI_PACKED,
                 setting().ends.comm);
  }
  void turn() override {
    std::swap(types_.send.base, types_.receive.base);
    setting().app.turn();
  }

 private:
  Datatypes types_;
  Packing packing_;
  int capacity_ = 0;
  int packed_ = 0;
};

/// Sends as many contiguous bytes without packing: the network's cost only.
class Reference final : public Method {
 public:
  explicit Reference(const Setting& setting) : Method(setting), count_(element_count(setting)) {}

  void create() override {
    packing_.open(setting(), setting().bytes);
    out_ = packing_.out();
    in_ = packing_.in();
  }
  void destroy() override { packing_.close(); }

  void send() override { send_contiguous(setting(), out_, count_); }
  void receive() override { receive_contiguous(setting(), in_, count_); }
  void exchange() override { exchange_contiguous(setting(), out_, in_, count_); }
  void turn() override { std::swap(out_, in_); }

  [[nodiscard]] Transfer transfer() const override {
    Transfer buffers{.sent = {}, .received = {}, .in_place = in_ == out_};
    buffers.sent.add(out_, setting().bytes);
    buffers.received.add(in_, setting().bytes);
    return buffers;
  }

 private:
  Packing packing_;
  char* out_ = nullptr;
  char* in_ = nullptr;
  int count_;
};

template <class Kind>
std::unique_ptr<Method> make(const Setting& setting) {
  return std::make_unique<Kind>(setting);
}

}  // namespace

const std::array<MethodInfo, 5>& methods() {
  static constexpr std::array<MethodInfo, 5> all = {{
      {.name = "mpi_ddt",
       .creates = true,
       .packs = false,
       .moves_data = true,
       .is_ours = false,
       .make = make<MpiDdt>},
      {.name = "manual",
       .creates = true,
       .packs = true,
       .moves_data = true,
       .is_ours = false,
       .make = make<Manual>},
      {.name = "mpi_pack_ddt",
       .creates = true,
       .packs = true,
       .moves_data = true,
       .is_ours = false,
       .make = make<MpiPackDdt>},
      {.name = "reference",
       .creates = false,
       .packs = false,
       .moves_data = false,
       .is_ours = false,
       .make = make<Reference>},
      {.name = "manual-tuned",
       .creates = true,
       .packs = true,
       .moves_data = true,
       .is_ours = true,
       .make = make<ManualTuned>},
  }};
  return all;
}

}  // namespace roundtrip::ddtbench
