// The seam to places of other hosts: the operations that a place asks for on memory that this host does not have.
//
// A pointer has the same meaning at every host, but a place maps only the slices of its own host. For a slice of
// another host no bounds are ever known (place_context::limit stays 0), so the slow ways of access.h hand the whole
// operation to place_context::far, which is null in a job of one host. docs/design/cluster.md.
#pragma once

#include <situ/fabric/detail/access.h>
#include <situ/memory/detail/place_context.h>
#include <situ/memory/detail/place_home.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace situ::detail {

struct cell;
struct channel;
struct message_form;
struct outgoing;

// One for each place, called by that place alone. Each operation waits until it is done, as a task does, and throws
// bad_address, misaligned or place_lost_error. An operation that does not fit the slice throws before it moves
// anything.
class far_hosts {
 public:
  // homes: of all places of the job; outlives this.
  far_hosts(std::span<const place_home> homes, std::uint16_t host) noexcept : homes_{homes}, host_{host} {}
  far_hosts(const far_hosts&) = delete;
  far_hosts& operator=(const far_hosts&) = delete;
  virtual ~far_hosts() = default;

  // pre: a place of the job.
  [[nodiscard]] bool is_far(std::uint32_t place) const noexcept { return homes_[place].host != host_; }
  [[nodiscard]] std::span<const place_home> homes() const noexcept { return homes_; }
  [[nodiscard]] std::uint16_t host() const noexcept { return host_; }

  virtual void put(std::uintptr_t to, const void* from, std::size_t bytes) = 0;
  virtual void get(void* to, std::uintptr_t from, std::size_t bytes) = 0;
  // box.far belongs to a place of another host; this place reads or writes box.near.
  virtual void move_box(access how, const strided_box& box) = 0;
  // Returns the bits of the previous value.
  virtual std::uint64_t atomic(const word_request& request) = 0;
  // Writes the data, then sets the word, which is at the same place.
  virtual void put_signal(std::uintptr_t to, const void* from, std::size_t bytes, const signal_change& signal) = 0;
  // Frees a block. Does not wait, so that handlers and destructors can call it; if the block's place knows no such
  // block, the error is logged.
  virtual void give_back(std::uintptr_t block) noexcept = 0;
  // Called when all places of this host have arrived at that round of a barrier of all places: tells the other hosts,
  // and waits until they have received it, or are lost.
  virtual void arrive(host_barrier which, std::uint64_t round) noexcept = 0;

  // Returns this place's end of its channel to a place of another host, for messages. It is as large as the channel,
  // in this place's memory, and keeps each message until the message is known to be in the target's channel:
  // `consumed` counts these messages. Throws bad_alloc.
  virtual channel& window(std::uint32_t place, bool is_reply) = 0;
  // Sends the message that c and its record in the window hold; out has already counted it.
  virtual void carry(const outgoing& out, const cell& c, const message_form& form) noexcept = 0;
  // Called when this place waits for more room in that window than there is.
  virtual void want_room(const outgoing& out) noexcept = 0;

  // Takes in the answers and credits that other hosts have sent. Returns true if there were any.
  virtual bool poll() = 0;
  // Returns true if this place waits for something to arrive or to be sent: then it sleeps by sleep().
  [[nodiscard]] virtual bool is_outstanding() const noexcept = 0;
  // Sleeps until something arrives, until another place wakes this one (asleep_by_bell), or for the given time; a
  // negative time is no limit. Returns true if the time was over.
  virtual bool sleep(std::int64_t timeout_ns) noexcept = 0;

 private:
  std::span<const place_home> homes_;
  std::uint16_t host_;
};

// Returns true if the place is on another host, so that its memory must not be touched. pre: a place of the job.
[[nodiscard]] inline bool is_far(const place_context& context, std::uint32_t place) noexcept {
  return context.far != nullptr && context.far->is_far(place);
}

// Returns true if this place reads a large parcel in the memory of that place; if false, the parcel is first copied to
// this place's segment. pre: a place of the job.
[[nodiscard]] inline bool reads_in_place(const place_context& context, std::uint32_t place) noexcept {
  return has_coherent_places && !is_far(context, place);
}

// From now on `hosts` decides which places are far. Call it before this place uses anything of theirs.
void join_hosts(place_context& context, far_hosts& hosts) noexcept;
// Call it if `hosts` ends before the place does.
void leave_hosts(place_context& context) noexcept;

}  // namespace situ::detail
