// What a crash may leave of a pool's file, at each point of a run.
//
// A run goes to flushes and fences through `persistence`, which tells this recorder of each before it happens. What was
// stored since the one before is found by comparing the mapped file with its last copy: so stores of the program's own
// are seen, too, and none can be forgotten. That tells nothing of the order of stores between two of these points, so
// none is assumed. A word that is stored twice between them has had a value that comparing does not see: hooks of the
// compiler tell of each store before it is done (store_hooks.h), and a word's second one makes a version of what it
// held.
//
//   unit      what goes to its place at once: a cache line (64 bytes), or for msync a sector (512)
//   version   what a unit held at some point since it was last known to be where it stays. A flush marks the version
//             that it finds; the next fence makes that one the oldest that may be found
//   state     for each unit that has several one of its versions, or, torn, words of two that follow each other
//
// Of a file that is mapped privately, stores to memory reach nothing: what is written to it is told of, with its bytes,
// and makes a version which may be found from then on; the next fence makes it the oldest.
//
// Reduction: where all choices of versions at a point are at most `most_states` they are all built; else a sample by
// seed, which always has the oldest and the newest of all, each unit alone old, and each alone new. Torn states are
// always a sample: 2^words is too many.
#pragma once

#include "pool/format.h"
#include "pool/persistence.h"
#include "store_hooks.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace situ_pool_test {

using situ::detail::pool_step;

// A flush or a fence that is left out.
struct left_out {
  pool_step step;
  bool is_fence;
};

class crash_recorder : public situ::detail::persistence_recorder, public store_listener {
 public:
  using bytes = std::vector<std::byte>;
  struct unit_versions {
    std::uint64_t offset;
    std::vector<bytes> versions;  // the first may be found, as may any other
  };
  // A moment at which the machine may go down.
  struct crash_point {
    std::vector<std::pair<std::uint64_t, bytes>> settled;  // what is known to be in its place since the point before
    std::vector<unit_versions> pending;
    int completed;         // how many steps of the scenario had returned
    int promised;          // and how many before the last fence, which a batched pool must keep
    std::uint64_t length;  // of the file
  };

  explicit crash_recorder(std::size_t unit_bytes, std::optional<left_out> without = {})
      : unit_{unit_bytes}, without_{without} {}

  void begin(int descriptor, const std::byte* base, bool is_private) override {
    is_private_ = is_private;
    go_on(descriptor, base);
    last_.resize(length());  // which may be more than is mapped
    if (::pread(descriptor, last_.data(), last_.size(), 0) != static_cast<ssize_t>(last_.size()))
      throw std::runtime_error{"the pool's file cannot be read"};
    note_length();
    image_ = last_;
  }
  // The file is mapped here from now on; what it held before is what it held before.
  void go_on(int descriptor, const std::byte* base) {
    descriptor_ = descriptor;
    base_ = base;
    constexpr std::uint64_t longest = std::uint64_t{1} << 30;
    if (!is_private_) listen_to_stores(this, base, base + longest);
  }
  void before_store(const std::byte* at, std::size_t bytes) override {
    const auto offset = static_cast<std::uint64_t>(at - base_);
    if (offset + bytes > last_.size()) return;  // not in the file yet, or cut off: comparing sees it
    for (std::uint64_t word = offset / 8; word <= (offset + bytes - 1) / 8; ++word) {
      auto& stored = stored_[word * 8 / unit_];
      const std::uint64_t bit = std::uint64_t{1} << word % (unit_ / 8);
      if ((stored & bit) != 0) {
        note_stores(word * 8 / unit_);
        ++stored_again_;
        stored = 0;
      }
      stored |= bit;
    }
  }
  void flush(const std::byte* at, std::size_t bytes, pool_step step) override {
    add_point();
    ++flushes_[step];
    if (is_left_out(step, false) || bytes == 0) return;
    const auto offset = static_cast<std::uint64_t>(at - base_);
    for (std::uint64_t unit = offset / unit_; unit <= (offset + bytes - 1) / unit_; ++unit)
      if (const auto found = pending_.find(unit); found != pending_.end())
        found->second.flushed = found->second.versions.size() - 1;
  }
  void write(std::uint64_t offset, const std::byte* from, std::size_t bytes, pool_step step) override {
    if (base_ == nullptr) return;
    add_point();
    ++flushes_[step];
    if (is_left_out(step, false) || bytes == 0) return;
    note_length();
    for (std::uint64_t unit = offset / unit_; unit <= (offset + bytes - 1) / unit_; ++unit) {
      std::byte* const held = last_.data() + unit * unit_;
      unit_state& state = pending_[unit];
      if (state.versions.empty()) state.versions.emplace_back(held, held + unit_);
      const std::uint64_t begin = std::max(offset, unit * unit_);
      const std::uint64_t end = std::min(offset + bytes, (unit + 1) * unit_);
      std::memcpy(last_.data() + begin, from + (begin - offset), end - begin);
      state.versions.emplace_back(held, held + unit_);
      state.flushed = state.versions.size() - 1;
    }
  }
  void fence(pool_step step) override {
    if (base_ == nullptr) return;
    add_point();
    ++fences_[step];
    if (is_left_out(step, true)) return;
    promised_ = completed_;
    for (auto each = pending_.begin(); each != pending_.end();) {
      unit_state& unit = each->second;
      if (unit.flushed != 0) {
        settled_.emplace_back(each->first * unit_, unit.versions[unit.flushed]);
        unit.versions.erase(unit.versions.begin(), unit.versions.begin() + static_cast<std::ptrdiff_t>(unit.flushed));
        unit.flushed = 0;
      }
      each = unit.versions.size() == 1 ? pending_.erase(each) : std::next(each);
    }
  }
  // A step of the scenario has returned; the run may be cut here, too.
  void complete_step() {
    add_point();
    ++completed_;
    add_point();
  }
  void stop() {
    listen_to_stores(nullptr, nullptr, nullptr);
    base_ = nullptr;
  }

  [[nodiscard]] const std::vector<crash_point>& points() const { return points_; }
  [[nodiscard]] const bytes& first_image() const { return image_; }
  [[nodiscard]] const std::map<pool_step, int>& flushes() const { return flushes_; }
  [[nodiscard]] const std::map<pool_step, int>& fences() const { return fences_; }
  // Of words, before what they held was flushed.
  [[nodiscard]] std::uint64_t stored_again() const { return stored_again_; }

 private:
  struct unit_state {
    std::vector<bytes> versions;
    std::size_t flushed = 0;  // the version that a flush has found; 0: none
  };

  [[nodiscard]] bool is_left_out(pool_step step, bool is_fence) const {
    return without_.has_value() && without_->step == step && without_->is_fence == is_fence;
  }
  [[nodiscard]] std::uint64_t length() const {
    struct stat status{};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  void note_stores(std::uint64_t unit) {
    std::byte* const before = last_.data() + unit * unit_;
    const std::byte* const now = base_ + unit * unit_;
    if (std::memcmp(before, now, unit_) == 0) return;
    // Where those meet who share the pool: the first opener sets it up, whatever it finds.
    if (!is_private_ && unit * unit_ - situ::detail::pool_area_offset < situ::detail::pool_area_bytes) return;
    auto& versions = pending_[unit].versions;
    if (versions.empty()) versions.emplace_back(before, before + unit_);
    versions.emplace_back(now, now + unit_);
    std::memcpy(before, now, unit_);
  }
  void note_length() {
    // In whole units; 0: it has been closed meanwhile.
    if (const std::uint64_t now = length(); now != 0) last_.resize((now + unit_ - 1) / unit_ * unit_);
  }
  void note_stores() {
    note_length();
    for (std::uint64_t unit = 0; !is_private_ && unit * unit_ < last_.size(); ++unit) note_stores(unit);
    stored_.clear();
  }
  void add_point() {
    note_stores();
    crash_point point{std::exchange(settled_, {}), {}, completed_, promised_, last_.size()};
    for (const auto& [unit, state] : pending_) point.pending.push_back({unit * unit_, state.versions});
    points_.push_back(std::move(point));
  }

  std::size_t unit_;
  std::optional<left_out> without_;
  int descriptor_ = -1;
  const std::byte* base_ = nullptr;
  bytes image_;
  bytes last_;
  std::map<std::uint64_t, unit_state> pending_;
  std::vector<std::pair<std::uint64_t, bytes>> settled_;
  std::vector<crash_point> points_;
  std::map<pool_step, int> flushes_;
  std::map<pool_step, int> fences_;
  std::map<std::uint64_t, std::uint64_t>
      stored_;  // of each unit: words that were stored since its last version, a bit each
  std::uint64_t stored_again_ = 0;
  bool is_private_ = false;
  int completed_ = 0;
  int promised_ = 0;
};

// A file that is each state in turn.
class crash_states {
 public:
  static constexpr std::uint64_t most_states = 64;
  static constexpr std::size_t most_alone = 24;

  crash_states(const crash_recorder& of, std::byte* file, std::uint32_t seed) : of_{of}, file_{file}, random_{seed} {
    std::memcpy(file_, of.first_image().data(), of.first_image().size());
  }

  // Calls look() for each state, until it returns false; the file is the state meanwhile.
  void for_each(const std::function<bool(const crash_recorder::crash_point&)>& look) {
    for (const auto& point : of_.points()) {
      for (const auto& [offset, content] : point.settled) std::memcpy(file_ + offset, content.data(), content.size());
      if (!look_at_point(point, look)) return;
    }
  }
  [[nodiscard]] std::uint64_t states() const { return states_; }
  [[nodiscard]] std::uint64_t points_in_full() const { return points_in_full_; }

 private:
  using choice = std::vector<std::size_t>;

  bool look_at_point(const crash_recorder::crash_point& point,
                     const std::function<bool(const crash_recorder::crash_point&)>& look) {
    std::vector<crash_recorder::bytes> before;
    for (const auto& each : point.pending)
      before.emplace_back(file_ + each.offset, file_ + each.offset + each.versions[0].size());
    bool goes_on = true;
    const auto try_state = [&] {
      ++states_;
      goes_on = goes_on && look(point);
    };
    for (const choice& chosen : choices_of(point)) {
      for (std::size_t i = 0; i < chosen.size(); ++i) set(point.pending[i], chosen[i]);
      try_state();
      if (!goes_on) break;
    }
    for (int i = 0; i < 8 && goes_on && !point.pending.empty(); ++i) {
      for (const auto& each : point.pending) set_torn(each);
      try_state();
    }
    for (std::size_t i = 0; i < before.size(); ++i)
      std::memcpy(file_ + point.pending[i].offset, before[i].data(), before[i].size());
    return goes_on;
  }
  void set(const crash_recorder::unit_versions& unit, std::size_t version) {
    std::memcpy(file_ + unit.offset, unit.versions[version].data(), unit.versions[version].size());
  }
  void set_torn(const crash_recorder::unit_versions& unit) {
    const std::size_t older = random_() % unit.versions.size();
    set(unit, older);
    if (older + 1 == unit.versions.size()) return;
    for (std::size_t at = 0; at < unit.versions[0].size(); at += 8)
      if (random_() % 2 == 0) std::memcpy(file_ + unit.offset + at, unit.versions[older + 1].data() + at, 8);
  }

  std::vector<choice> choices_of(const crash_recorder::crash_point& point) {
    const std::size_t units = point.pending.size();
    std::uint64_t all = 1;
    for (const auto& each : point.pending)
      if (all <= most_states) all *= each.versions.size();
    std::vector<choice> choices;
    if (all <= most_states) {
      ++points_in_full_;
      for (std::uint64_t number = 0; number < all; ++number) {
        std::uint64_t rest = number;
        choice& next = choices.emplace_back();
        for (const auto& each : point.pending) {
          next.push_back(rest % each.versions.size());
          rest /= each.versions.size();
        }
      }
      return choices;
    }
    choice newest;
    for (const auto& each : point.pending) newest.push_back(each.versions.size() - 1);
    choices.emplace_back(units, 0);
    choices.push_back(newest);
    for (std::size_t i = 0; i < units && i < most_alone; ++i) {
      const std::size_t unit = units <= most_alone ? i : random_() % units;
      choices.emplace_back(units, 0)[unit] = newest[unit];
      choices.emplace_back(newest)[unit] = 0;
    }
    for (int i = 0; i < 12; ++i) {
      choice& next = choices.emplace_back();
      const unsigned of_ten = 1 + random_() % 9;
      for (std::size_t unit = 0; unit < units; ++unit)
        next.push_back(random_() % 10 < of_ten ? random_() % (newest[unit] + 1) : newest[unit]);
    }
    return choices;
  }

  const crash_recorder& of_;
  std::byte* file_;
  std::mt19937 random_;
  std::uint64_t states_ = 0;
  std::uint64_t points_in_full_ = 0;
};

}  // namespace situ_pool_test
