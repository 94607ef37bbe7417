#include "rmem/replacement.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

namespace situ::rmem::detail {
namespace {

using frame_number = replacement_policy::frame_number;

// Ordered queues of frames; a frame is in at most one queue. All steps take constant time.
class frame_links {
 public:
  explicit frame_links(std::uint32_t frames) : at_(frames) {}
  struct queue {
    frame_number first = replacement_policy::none;  // the oldest
    frame_number last = replacement_policy::none;
    std::uint32_t count = 0;
  };
  void push(queue& to, frame_number frame) {
    at_[frame] = {to.last, replacement_policy::none};
    (to.last == replacement_policy::none ? to.first : at_[to.last].next) = frame;
    to.last = frame;
    ++to.count;
  }
  void take(queue& from, frame_number frame) {
    const auto [previous, next] = at_[frame];
    (previous == replacement_policy::none ? from.first : at_[previous].next) = next;
    (next == replacement_policy::none ? from.last : at_[next].previous) = previous;
    --from.count;
  }
  [[nodiscard]] frame_number after(frame_number frame) const { return at_[frame].next; }

 private:
  struct links {
    frame_number previous;
    frame_number next;
  };
  std::vector<links> at_;
};

class fifo final : public replacement_policy {
 public:
  explicit fifo(std::uint32_t frames) : links_{frames} {}
  void came(frame_number frame, std::uint64_t) override { links_.push(all_, frame); }
  void touched(frame_number) override {}
  void gone(frame_number frame) override { links_.take(all_, frame); }
  frame_number choose(const std::function<bool(frame_number)>& may, std::vector<frame_number>&) override {
    for (frame_number each = all_.first; each != none; each = links_.after(each))
      if (may(each)) return each;
    return none;
  }

 private:
  frame_links links_;
  frame_links::queue all_;
};

// A queue with two hands. The front hand, a quarter of the queue ahead, has frames watched; the back hand takes the
// first frame not touched since. Touched frames move to the end.
class two_hands {
 public:
  two_hands(frame_links& links, std::uint32_t frames) : links_{links}, states_(frames, state::plain) {}
  void push(frame_number frame) {
    states_[frame] = state::plain;
    links_.push(all_, frame);
    if (front_ == replacement_policy::none) front_ = frame;
  }
  void take(frame_number frame) {
    if (frame == front_) front_ = links_.after(frame);
    if (states_[frame] != state::plain) --ahead_;
    links_.take(all_, frame);
  }
  void touched(frame_number frame) {
    if (states_[frame] == state::watched) states_[frame] = state::touched;
  }
  [[nodiscard]] std::uint32_t count() const { return all_.count; }
  [[nodiscard]] frame_number choose(const std::function<bool(frame_number)>& may, std::vector<frame_number>& watch) {
    frame_number passed_over = replacement_policy::none;
    for (std::uint32_t left = 2 * all_.count; left > 0; --left) {
      while (ahead_ <= all_.count / 4 && front_ != replacement_policy::none) {
        states_[front_] = state::watched;
        watch.push_back(front_);
        front_ = links_.after(front_);
        ++ahead_;
      }
      const frame_number back = all_.first;
      if (states_[back] == state::watched && may(back)) return back;
      if (states_[back] == state::watched) passed_over = back;
      take(back);
      push(back);
    }
    return passed_over != replacement_policy::none && may(passed_over) ? passed_over : any(may);
  }

 private:
  enum class state : std::uint8_t { plain, watched, touched };
  [[nodiscard]] frame_number any(const std::function<bool(frame_number)>& may) const {
    for (frame_number each = all_.first; each != replacement_policy::none; each = links_.after(each))
      if (may(each)) return each;
    return replacement_policy::none;
  }
  frame_links& links_;
  frame_links::queue all_;
  std::vector<state> states_;
  frame_number front_ = replacement_policy::none;  // the next to be watched
  std::uint32_t ahead_ = 0;                        // frames that are not plain: from the first up to the front hand
};

class clock_policy final : public replacement_policy {
 public:
  explicit clock_policy(std::uint32_t frames) : links_{frames}, hands_{links_, frames} {}
  void came(frame_number frame, std::uint64_t) override { hands_.push(frame); }
  void touched(frame_number frame) override { hands_.touched(frame); }
  void gone(frame_number frame) override { hands_.take(frame); }
  frame_number choose(const std::function<bool(frame_number)>& may, std::vector<frame_number>& watch) override {
    return hands_.choose(may, watch);
  }

 private:
  frame_links links_;
  two_hands hands_;
};

// Eight bits a frame, the last look's on top. The policy looks at all frames each time that an eighth of them was
// filled.
class aging final : public replacement_policy {
 public:
  explicit aging(std::uint32_t frames)
      : links_{frames}, ages_(frames), is_touched_(frames), interval_{frames / 8 + 1} {}
  void came(frame_number frame, std::uint64_t) override {
    links_.push(all_, frame);
    ages_[frame] = 0x80;
    is_touched_[frame] = false;
    ++filled_;
  }
  void touched(frame_number frame) override { is_touched_[frame] = true; }
  void gone(frame_number frame) override { links_.take(all_, frame); }
  frame_number choose(const std::function<bool(frame_number)>& may, std::vector<frame_number>& watch) override {
    if (filled_ >= interval_) look(watch);
    frame_number best = none;
    for (frame_number each = all_.first; each != none; each = links_.after(each))
      if (!is_touched_[each] && may(each) && (best == none || ages_[each] < ages_[best])) best = each;
    for (frame_number each = all_.first; best == none && each != none; each = links_.after(each))
      if (may(each)) best = each;
    return best;
  }

 private:
  void look(std::vector<frame_number>& watch) {
    filled_ = 0;
    for (frame_number each = all_.first; each != none; each = links_.after(each)) {
      ages_[each] = static_cast<std::uint8_t>(ages_[each] >> 1 | (is_touched_[each] ? 0x80 : 0));
      is_touched_[each] = false;
      watch.push_back(each);
    }
  }
  frame_links links_;
  frame_links::queue all_;
  std::vector<std::uint8_t> ages_;
  std::vector<bool> is_touched_;
  std::uint32_t interval_;
  std::uint32_t filled_ = 0;  // since the last look
};

// S3-FIFO (Yang et al., SOSP 2023), adapted to looks: the small queue is a tenth, a page is watched from the middle of
// that on, and the long queue has two hands.
class s3_fifo final : public replacement_policy {
 public:
  explicit s3_fifo(std::uint32_t frames)
      : links_{frames}, long_{links_, frames}, pages_(frames), where_(frames), most_ghosts_{frames} {}
  void came(frame_number frame, std::uint64_t page) override {
    pages_[frame] = page;
    const auto ghost = ghosts_.find(page);
    if (ghost != ghosts_.end()) {
      ghost_order_.erase(ghost->second);
      ghosts_.erase(ghost);
      where_[frame] = in::longer;
      return long_.push(frame);
    }
    where_[frame] = in::fresh;
    links_.push(fresh_, frame);
  }
  void touched(frame_number frame) override {
    if (where_[frame] == in::longer) return long_.touched(frame);
    if (where_[frame] == in::watched) where_[frame] = in::touched;
  }
  void gone(frame_number frame) override {
    if (where_[frame] == in::longer) return long_.take(frame);
    links_.take(where_[frame] == in::fresh ? fresh_ : old_, frame);
    ghost_order_.push_back(pages_[frame]);
    ghosts_[pages_[frame]] = std::prev(ghost_order_.end());
    if (ghosts_.size() <= most_ghosts_) return;
    ghosts_.erase(ghost_order_.front());
    ghost_order_.pop_front();
  }
  frame_number choose(const std::function<bool(frame_number)>& may, std::vector<frame_number>& watch) override {
    const std::uint32_t all = fresh_.count + old_.count + long_.count();
    while (fresh_.count > 0 && old_.count <= fresh_.count) {
      const frame_number middle = fresh_.first;
      links_.take(fresh_, middle);
      links_.push(old_, middle);
      where_[middle] = in::watched;
      watch.push_back(middle);
    }
    const bool is_short_full = 10 * (fresh_.count + old_.count) > all;
    if (is_short_full || long_.count() == 0) {
      for (frame_number each = old_.first; each != none;) {
        const frame_number next = links_.after(each);
        if (where_[each] == in::touched) {
          links_.take(old_, each);
          where_[each] = in::longer;
          long_.push(each);
        } else if (may(each)) {
          return each;
        }
        each = next;
      }
    }
    const frame_number found = long_.choose(may, watch);
    if (found != none) return found;
    for (const frame_links::queue* from : {&old_, &fresh_})
      for (frame_number each = from->first; each != none; each = links_.after(each))
        if (may(each)) return each;
    return none;
  }

 private:
  enum class in : std::uint8_t { fresh, watched, touched, longer };
  frame_links links_;
  frame_links::queue fresh_;  // the younger half of the short queue
  frame_links::queue old_;
  two_hands long_;
  std::vector<std::uint64_t> pages_;
  std::vector<in> where_;
  // Pages evicted from the short queue.
  std::uint32_t most_ghosts_;
  std::list<std::uint64_t> ghost_order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> ghosts_;
};

}  // namespace

std::unique_ptr<replacement_policy> make_replacement_policy(replacement which, std::uint32_t frames) {
  switch (which) {
    case replacement::fifo: return std::make_unique<fifo>(frames);
    case replacement::aging: return std::make_unique<aging>(frames);
    case replacement::clock: return std::make_unique<clock_policy>(frames);
    case replacement::s3_fifo: break;
  }
  return std::make_unique<s3_fifo>(frames);
}

}  // namespace situ::rmem::detail
