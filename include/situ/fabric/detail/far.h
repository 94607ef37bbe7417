// The seam to places of other hosts: what a place asks of memory that this host does not have.
//
// A pointer means the same at every host, but a place maps the slices of its own host alone. The slow ways of access.h,
// where the bounds of such a slice are never known (place_context::limit stays 0), hand the whole operation to
// place_context::far, which is null in a job of one host. docs/design/cluster.md.
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

// One for each place. Called by that place alone. Each operation waits until it is done, as a task does, and throws
// bad_address, misaligned or place_lost_error; those with more bytes than fit the slice throw before anything is moved.
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
  // box.far is of another host's place, box.near this place's to read or write.
  virtual void move_box(access how, const strided_box& box) = 0;
  // Returns the bits that were there before.
  virtual std::uint64_t atomic(const word_request& request) = 0;
  // Writes the data, then sets the word, which lies at the same place.
  virtual void put_signal(std::uintptr_t to, const void* from, std::size_t bytes, const signal_change& signal) = 0;
  // Gives back a block. Does not wait, so that handlers and ends of lives can; where that place knows no such block, it
  // is logged.
  virtual void give_back(std::uintptr_t block) noexcept = 0;
  // All places of this host have come to that round of a barrier of all places: tells the other hosts, and waits until
  // they have heard it, or are lost.
  virtual void arrive(host_barrier which, std::uint64_t round) noexcept = 0;

  // Messages. This place's end of its channel to a place there, as large as that, in its own memory, until the message
  // is known to lie in a channel there: `consumed` says how far. Throws bad_alloc.
  virtual channel& window(std::uint32_t place, bool is_reply) = 0;
  // Sends the message that c and its record in the window are; out counts it already.
  virtual void carry(const outgoing& out, const cell& c, const message_form& form) noexcept = 0;
  // Somebody waits for more room in that window than there is.
  virtual void want_room(const outgoing& out) noexcept = 0;

  // Takes in what has come from other hosts: answers, and room in windows. True if anything had.
  virtual bool poll() = 0;
  // Whether anything is to come, or to go, that is waited for: then this place sleeps by sleep().
  [[nodiscard]] virtual bool is_outstanding() const noexcept = 0;
  // Until something comes, the place is woken (asleep_by_bell), or for the time; a negative time is no limit. True
  // where the time was over.
  virtual bool sleep(std::int64_t timeout_ns) noexcept = 0;

 private:
  std::span<const place_home> homes_;
  std::uint16_t host_;
};

// Whether the place is of another host, so that its memory is not to be touched. pre: a place of the job.
[[nodiscard]] inline bool is_far(const place_context& context, std::uint32_t place) noexcept {
  return context.far != nullptr && context.far->is_far(place);
}

// Whether a large parcel of that place is read where it lies; else it is copied to this place's segment first. pre: a
// place of the job.
[[nodiscard]] inline bool reads_in_place(const place_context& context, std::uint32_t place) noexcept {
  return has_coherent_places && !is_far(context, place);
}

// From now on places are far as `hosts` says. Before this place uses anything of theirs.
void join_hosts(place_context& context, far_hosts& hosts) noexcept;
// Where `hosts` ends before the place does.
void leave_hosts(place_context& context) noexcept;

}  // namespace situ::detail
