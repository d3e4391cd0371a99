#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ring/udp_socket.hpp"
#include "ring/wire.hpp"

namespace roundtrip::ring {

/// Regions as UDP datagrams, in pieces that fit a frame. A piece is kept until the peer has
/// acknowledged it; after a time-out estimated from round trips (RFC 6298), it is sent again with
/// all later pieces. Acknowledgements are piggybacked on datagrams to the peer, or sent after half
/// a window or a delay. All ranks must have the same byte order.
class Datagrams final : public Wire {
 public:
  /// Largest number of pieces in flight to a rank.
  static constexpr std::size_t window = 32;
  /// Regions kept and arriving, for which a comm heap needs room besides the program's.
  static constexpr std::size_t kept_regions = 2 * window;

  /// Collective. Throws Failure(usage) on every rank if one lacks the topology's interface.
  Datagrams(const Topology& topology, Member& member);

  void send(int rank, Region&& region) override;
  std::optional<Region> look() override;
  void nap() override;
  void drain() override;
  void describe(nlohmann::ordered_json& record) const override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration first_patience = std::chrono::milliseconds(200);

  struct Head {
    std::uint16_t launch;        ///< the same in all datagrams of a launch
    std::uint16_t from;          ///< rank
    std::uint16_t number;        ///< of the piece; without a piece, of the next one
    std::uint16_t acknowledged;  ///< all pieces before this one have arrived
    std::uint32_t left;          ///< bytes of the region from this piece on; 0: no piece
  };
  struct Piece {
    std::shared_ptr<Region> region;
    std::size_t start;
    std::size_t bytes;
    Clock::time_point sent;
    bool repeated = false;
  };
  /// Smoothed time from a piece to its acknowledgement (RFC 6298, section 2).
  struct RoundTrip {
    void observe(Clock::duration measured);
    [[nodiscard]] Clock::duration patience() const;
    std::optional<Clock::duration> mean{};
    Clock::duration deviation{};
  };
  struct Peer {
    sockaddr_in address{};
    std::deque<Piece> under_way;
    std::uint16_t first_under_way = 0;
    Clock::time_point progress;  ///< when the oldest piece under way was sent or became oldest
    RoundTrip round_trip;
    Clock::duration patience = first_patience;
    std::uint16_t expected = 0;
    std::size_t owed = 0;  ///< pieces that arrived and were not acknowledged
    Clock::time_point owed_since;
    Region arriving;
    std::size_t filled = 0;
  };

  [[nodiscard]] bool all_arrived() const;
  void wait();
  void receive();
  void take(const Head& head, std::span<const char> body);
  static void take_acknowledgement(Peer& peer, std::uint16_t acknowledged);
  void transmit(Peer& peer, std::size_t index);
  void acknowledge(Peer& peer);
  void keep_time();

  const Topology& topology_;
  Member& member_;
  std::unique_ptr<UdpSocket> socket_;
  std::vector<Peer> peers_;  ///< by rank
  std::vector<char> buffer_;
  std::deque<Region> arrived_;
  std::uint16_t launch_ = 0;
  std::int64_t datagrams_ = 0;
  std::int64_t acknowledgements_ = 0;
  std::int64_t repeated_ = 0;
};

}  // namespace roundtrip::ring
