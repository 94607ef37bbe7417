// The baton: of the interpreters of a job, one a place, only the one that has the baton runs. It passes the baton to the
// place where the next receiver lives, with what the other one needs to go on.
//
//   if (baton.home_of(receiver) != baton.here()) baton.pass(home, message);     // this place: waits then
//   baton_message next = baton.receive();                                       // there
//
// On a modelled machine with raw channels a message goes by them: ten words past all memories. A place that waits for one
// answers nobody; so a caller that needs the others for a moment (a move, a collection) uses with_others(). Elsewhere the
// message is a line of the other place's segment, and a place that waits for it answers meanwhile.
#pragma once

#include "object_memory.h"

#include <situ/fabric/signal.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace squeak {

// The first thing that a place does when it gets the baton.
enum class baton_step : std::uint8_t {
  activate,   // `subject` is a method, for a receiver and its arguments
  value,      // likewise a block, for arguments
  answer,     // `subject` is what `context` gets
  go_on,      // with `context`
  primitive,  // of number `header` and the method `subject`: for the main place
  failed,     // for the main place: `subject` is a String that says why, or 0 if there was no room for one; `header` is
              // 1 if there was no room for an object
  attend,     // answer messages until attention number `header` is over; the baton stays where it is
  end,        // the job is done; `header` is 1 if an error has ended the main place
};

// Thrown at the other places if an error ends the main one: its heap is gone, and theirs do not wait for it.
struct baton_abandoned {};

struct baton_message {
  // The receiver and the arguments, or a block's arguments, if they are so many; more are read from the caller's frame.
  static constexpr int most_values = 3;

  std::uint32_t what = static_cast<std::uint32_t>(baton_step::end);
  oop context = 0;  // active until now, or (answer, go_on) from now on
  oop subject = 0;
  std::uint32_t header = 0;  // of the method
  // Each interpreter goes on with these members of interpreter and object_memory.
  std::uint32_t reclaimable = 0;
  std::uint32_t epoch = 0;
  std::uint32_t hash_state = 0;
  std::array<oop, most_values> values{};

  // depth: of the stack of `context`, without receiver and arguments.
  [[nodiscard]] static std::uint32_t what_of(baton_step step, std::uint32_t arguments = 0, std::uint32_t depth = 0) {
    return static_cast<std::uint32_t>(step) | arguments << 8 | depth << 16;
  }
  [[nodiscard]] baton_step step() const { return static_cast<baton_step>(what & 0xff); }
  [[nodiscard]] int arguments() const { return static_cast<int>(what >> 8 & 0xff); }
  [[nodiscard]] std::uint32_t depth() const { return what >> 16; }
};
static_assert(sizeof(baton_message) == 40);

// Words of all places, which are seldom looked at. specials: 0 until the image has given others.
enum class baton_word : std::uint8_t { wake_up_at, low_space, attentions, specials };
inline constexpr std::size_t baton_words = 4;

class baton {
 public:
  // Collective. one_heap: a read-mostly receiver is as good at each place, so the baton stays. clock_call: rounds of a
  // loop that each pass takes, for a clock that the system reads.
  baton(bool one_heap, std::uint32_t clock_call);
  ~baton();
  baton(const baton&) = delete;
  baton& operator=(const baton&) = delete;

  [[nodiscard]] std::uint32_t here() const { return here_; }
  [[nodiscard]] bool is_main() const { return here_ == 0; }
  [[nodiscard]] bool has_one_heap() const { return one_heap_; }
  [[nodiscard]] std::uint32_t home_of(const void* object) const {
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(object) - base_) >> slice_shift_);
  }
  // Times that this place has passed the baton.
  [[nodiscard]] std::uint64_t passes() const { return passes_; }
  void reset_passes() { passes_ = 0; }

  // The message that pass() sends. It has words of earlier ones: those that its step does not need stay.
  [[nodiscard]] baton_message& next() { return next_; }
  void pass(std::uint32_t to);
  // Waits for the baton; the message is valid until the next call. While this place answers others it is outside of the
  // section of `memory`, so addresses are others afterwards. Throws place_lost_error.
  [[nodiscard]] const baton_message& receive(object_memory& memory);
  [[nodiscard]] std::uint64_t word(baton_word which) const;
  void set_word(baton_word which, std::uint64_t value);
  // Calls f while all other places answer messages. pre: this place has the baton.
  template <class F>
  void with_others(F f) {
    const attention all{*this};
    f();
  }
  // Tells all other places that the job is done, or that an error has ended it. pre: as above.
  void end(bool by_error);

 private:
  struct attention {
    explicit attention(baton& of) : of_{of} { of_.ask_for_attention(); }
    ~attention() { of_.end_attention(); }
    baton& of_;
  };
  struct box {
    situ::ptr<baton_message> message;
    situ::ptr<situ::signal> arrived;    // messages so far
    situ::ptr<situ::signal> attention;  // the number of the last attention that is over
    situ::ptr<situ::signal> words;      // one for each baton_word; those of the main place count
  };
  void ask_for_attention();
  void end_attention();
  void send(std::uint32_t to, const baton_message& message);
  void attend(std::uint64_t number) const;
  [[gnu::noinline]] void call_clock() const;

  bool one_heap_;
  bool has_raw_channels_ = false;
  std::uint32_t clock_call_;
  std::uint32_t here_;
  std::uintptr_t base_;
  std::uint32_t slice_shift_;
  std::vector<box> boxes_;       // of each place
  std::uint64_t seen_ = 0;       // messages
  std::uint64_t attention_ = 0;  // the number of the one that this place has asked for
  baton_message received_;
  baton_message next_;
  std::uint64_t passes_ = 0;
};

}  // namespace squeak
