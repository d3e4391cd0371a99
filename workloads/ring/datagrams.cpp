#include "ring/datagrams.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace roundtrip::ring {
namespace {

constexpr auto longest_debt = std::chrono::milliseconds(20);
constexpr auto longest_patience = std::chrono::seconds(1);
constexpr std::size_t largest_debt = Datagrams::window / 2;

/// Signed distance from `b` to `a`, modulo 2^16.
std::int16_t ahead(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b));
}

}  // namespace

Datagrams::Datagrams(const Topology& topology, Member& member)
    : topology_(topology), member_(member), peers_(static_cast<std::size_t>(topology.size())) {
  topology.session().agree([&] { socket_ = std::make_unique<UdpSocket>(topology.interface()); });
  std::vector<sockaddr_in> addresses(peers_.size());
  const auto mine = socket_->address();
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, addresses.data(), sizeof mine, MPI_BYTE,
                topology.comm());
  for (std::size_t i = 0; i < peers_.size(); ++i) peers_[i].address = addresses[i];
  // A full window must fit the receive buffer, with as much kernel overhead as data.
  std::size_t largest = std::min(socket_->largest(), socket_->room() / (2 * window));
  static_assert(sizeof largest == sizeof(std::uint64_t));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_UINT64_T, MPI_MIN, topology.comm());
  buffer_.resize(largest - sizeof(Head));
  launch_ = static_cast<std::uint16_t>(getpid());
  MPI_Bcast(&launch_, 1, MPI_UINT16_T, 0, topology.comm());
}

void Datagrams::send(int rank, Region&& region) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  const auto whole = std::make_shared<Region>(std::move(region));
  const std::size_t bytes = whole->bytes().size();
  for (std::size_t start = 0; start < bytes; start += buffer_.size()) {
    while (peer.under_way.size() >= window) wait();
    const auto time = Clock::now();
    if (peer.under_way.empty()) peer.progress = time;
    peer.under_way.push_back({.region = whole,
                              .start = start,
                              .bytes = std::min(buffer_.size(), bytes - start),
                              .sent = time});
    transmit(peer, peer.under_way.size() - 1);
  }
}

std::optional<Region> Datagrams::look() {
  receive();
  keep_time();
  if (arrived_.empty()) return std::nullopt;
  Region region = std::move(arrived_.front());
  arrived_.pop_front();
  return region;
}

/// Regions from ranks of this node do not end the sleep: with several ranks here it is short.
void Datagrams::nap() {
  constexpr auto glance = std::chrono::microseconds(50);
  constexpr auto doze = std::chrono::milliseconds(10);
  socket_->await(topology_.members() > 1 ? glance : doze);
}

void Datagrams::wait() {
  nap();
  receive();
  keep_time();
}

bool Datagrams::all_arrived() const {
  return std::ranges::all_of(peers_, [](const Peer& peer) { return peer.under_way.empty(); });
}

/// No rank leaves before all are done: its last acknowledgement may be lost.
void Datagrams::drain() {
  for (Peer& peer : peers_) {
    if (peer.owed > 0) acknowledge(peer);
  }
  while (!all_arrived()) wait();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(topology_.comm(), &request);
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0) {
    socket_->await(std::chrono::microseconds(50));
    receive();
  }
}

void Datagrams::describe(nlohmann::ordered_json& record) const {
  record["interface"] = topology_.interface();
  record["largest_piece_bytes"] = buffer_.size();
  record["head_bytes"] = sizeof(Head);
  record["datagrams"] = datagrams_;
  record["bare_acknowledgements"] = acknowledgements_;
  record["repeated"] = repeated_;
}

void Datagrams::receive() {
  Head head{};
  const std::span<char> head_bytes(reinterpret_cast<char*>(&head), sizeof head);
  while (const std::size_t bytes = socket_->receive(head_bytes, buffer_)) {
    if (bytes < sizeof head || head.launch != launch_ || head.from >= peers_.size()) continue;
    take(head, std::span(buffer_).first(bytes - sizeof head));
  }
}

void Datagrams::take(const Head& head, std::span<const char> body) {
  Peer& peer = peers_[head.from];
  take_acknowledgement(peer, head.acknowledged);
  if (head.left == 0) return;
  if (head.number != peer.expected) return acknowledge(peer);  // duplicate, or after a lost piece
  ++peer.expected;
  if (peer.owed++ == 0) peer.owed_since = Clock::now();
  if (!peer.arriving.held()) {
    peer.arriving = member_.allocate(head.left);
    peer.filled = 0;
  }
  std::ranges::copy(body, peer.arriving.bytes().subspan(peer.filled).begin());
  peer.filled += body.size();
  if (body.size() == head.left) arrived_.push_back(std::move(peer.arriving));
  if (peer.owed >= largest_debt) acknowledge(peer);
}

void Datagrams::take_acknowledgement(Peer& peer, std::uint16_t acknowledged) {
  while (!peer.under_way.empty() && ahead(acknowledged, peer.first_under_way) > 0) {
    const Piece& piece = peer.under_way.front();
    peer.progress = Clock::now();
    // The acknowledgement of a repeated piece is ambiguous (Karn).
    if (!piece.repeated) peer.round_trip.observe(peer.progress - piece.sent);
    peer.patience = peer.round_trip.patience() + longest_debt;
    peer.under_way.pop_front();
    ++peer.first_under_way;
  }
}

void Datagrams::RoundTrip::observe(Clock::duration measured) {
  constexpr int mean_weight = 8;
  constexpr int deviation_weight = 4;
  if (!mean) {
    mean = measured;
    deviation = measured / 2;
    return;
  }
  deviation += (std::chrono::abs(*mean - measured) - deviation) / deviation_weight;
  *mean += (measured - *mean) / mean_weight;
}

Datagrams::Clock::duration Datagrams::RoundTrip::patience() const {
  constexpr int deviations = 4;
  return mean ? *mean + deviations * deviation : first_patience;
}

void Datagrams::transmit(Peer& peer, std::size_t index) {
  const Piece& piece = peer.under_way[index];
  const auto bytes = piece.region->bytes();
  const Head head{.launch = launch_,
                  .from = static_cast<std::uint16_t>(topology_.rank()),
                  .number = static_cast<std::uint16_t>(peer.first_under_way + index),
                  .acknowledged = peer.expected,
                  .left = static_cast<std::uint32_t>(bytes.size() - piece.start)};
  socket_->send(peer.address, {reinterpret_cast<const char*>(&head), sizeof head},
                bytes.subspan(piece.start, piece.bytes));
  peer.owed = 0;
  ++datagrams_;
}

void Datagrams::acknowledge(Peer& peer) {
  const Head head{
      .launch = launch_,
      .from = static_cast<std::uint16_t>(topology_.rank()),
      .number = static_cast<std::uint16_t>(peer.first_under_way + peer.under_way.size()),
      .acknowledged = peer.expected,
      .left = 0};
  socket_->send(peer.address, {reinterpret_cast<const char*>(&head), sizeof head}, {});
  peer.owed = 0;
  ++acknowledgements_;
}

void Datagrams::keep_time() {
  const auto time = Clock::now();
  for (Peer& peer : peers_) {
    if (peer.owed > 0 && time - peer.owed_since >= longest_debt) acknowledge(peer);
    if (peer.under_way.empty() || time - peer.progress < peer.patience) continue;
    for (std::size_t i = 0; i < peer.under_way.size(); ++i, ++repeated_) {
      peer.under_way[i].repeated = true;
      transmit(peer, i);
    }
    peer.progress = time;
    peer.patience = std::min<Clock::duration>(2 * peer.patience, longest_patience);
  }
}

}  // namespace roundtrip::ring
