#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ep/call.h"

namespace mixnet::ep {

// Bytes of the window that a rank needs in an attempt.
struct RoomNeed {
  uint64_t receive = 0;  // where others write its rows
  uint64_t relay = 0;    // where flows pass
  uint64_t stage = 0;    // of its own
};

// Where every rank's blocks are. Sizes follow from the declarations, which carry an offer: blocks
// as large as those of the call before. Who needs larger ones tells their places afterwards.
class Places {
 public:
  // Sizes of the offer; grow with the needs.
  struct Sizes {
    uint64_t receive = 0;
    uint64_t relay = 0;
  };
  // `first`: where in the numbers of a declaration the offer begins.
  Places(Attempt& attempt, Sizes& sizes, std::size_t first)
      : attempt_(attempt), sizes_(sizes), first_(first) {}

  static constexpr std::size_t kNumbers = 5;
  // Lends the blocks and appends kNumbers numbers.
  void offer(std::vector<int64_t>& numbers);
  // After the declarations: why the call cannot work, the same text on all ranks; or empty.
  std::string lacking_room(const char* call, const std::vector<RoomNeed>& needs) const;
  // Until all places are known.
  Attempt::Progress agree(const std::vector<RoomNeed>& needs);

  const std::vector<uint64_t>& receive_at() const { return receive_at_; }  // [rank]
  const std::vector<uint64_t>& relay_at() const { return relay_at_; }      // [rank]

 private:
  enum Offer : std::size_t { kReceiveAt, kReceiveBytes, kRelayAt, kRelayBytes, kFree };

  uint64_t offered(int rank, Offer what) const;
  bool exceeds(int rank, const RoomNeed& need) const;
  void replace(const RoomNeed& need);

  Attempt& attempt_;
  Sizes& sizes_;
  std::size_t first_;
  std::vector<uint64_t> receive_at_;
  std::vector<uint64_t> relay_at_;
};

}  // namespace mixnet::ep
