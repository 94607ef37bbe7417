#include "task/access_map.h"

#include <algorithm>

namespace situ::detail {
namespace {

constexpr std::size_t slab_room = 512;

// Returns how many of the first `count` are at most `at`, without branches that depend on the values.
std::uint32_t rank_of(const std::uint64_t* begins, std::uint32_t count, std::uint64_t at) noexcept {
  const std::uint64_t* base = begins;
  std::uint32_t left = count;
  while (left > 1) {
    const std::uint32_t half = left / 2;
    base = base[half - 1] <= at ? base + half : base;
    left -= half;
  }
  return static_cast<std::uint32_t>(base - begins) + (left == 1 && *base <= at ? 1 : 0);
}

}  // namespace

access_map::access_map() = default;

access_map::~access_map() { clear(); }

void access_map::grow(interval& it) {
  const std::uint32_t room = it.room == 0 ? 6 : 2 * it.room;
  auto* const more = new unit_name[room];
  std::copy_n(it.more, it.readers - 2, more);
  delete[] it.more;
  it.more = more;
  it.room = room;
}

std::size_t access_map::leaf_of(std::uint64_t at) noexcept {
  for (const std::size_t recent : recent_)
    if (recent < firsts_.size() && firsts_[recent] <= at && (recent + 1 == firsts_.size() || at < firsts_[recent + 1]))
      return recent;
  const auto above = std::upper_bound(firsts_.begin(), firsts_.end(), at);
  const auto found = static_cast<std::size_t>(above - firsts_.begin());
  recent_[1] = recent_[0];
  return recent_[0] = found == 0 ? 0 : found - 1;
}

interval& access_map::interval_at(std::uint64_t at, std::uint64_t end) {
  if (leaves_.empty()) return insert(at, end, nullptr);
  std::size_t in = leaf_of(at);
  leaf* l = leaves_[in].get();
  std::uint32_t after = rank_of(l->begins.data(), l->count, at);
  // An interval that begins in the previous leaf may reach into this one.
  if (after > 0 || in > 0) {
    const leaf& of = after > 0 ? *l : *leaves_[in - 1];
    interval& before = *of.intervals[(after > 0 ? after : of.count) - 1];
    if (before.begin == at) {
      if (before.end > end) {
        insert(end, before.end, &before);
        before.end = end;
      }
      table_[slot_of(at)] = &before;
      return before;
    }
    if (before.end > at) {
      interval& rest = insert(at, before.end, &before);
      before.end = at;
      if (rest.end > end) {
        insert(end, rest.end, &rest);
        rest.end = end;
      }
      return rest;
    }
  }
  // A gap: make an interval up to the next one, in this leaf or a later one.
  while (after == l->count && in + 1 < leaves_.size()) {
    l = leaves_[++in].get();
    after = 0;
  }
  if (after < l->count) end = std::min(end, l->begins[after]);
  return insert(at, end, nullptr);
}

interval& access_map::insert(std::uint64_t begin, std::uint64_t end, const interval* like) {
  if (leaves_.empty()) {
    leaves_.push_back(std::make_unique<leaf>());
    firsts_.push_back(0);
  }
  std::size_t in = leaf_of(begin);
  if (leaves_[in]->count == leaf_room) {
    leaf& full = *leaves_[in];
    auto next = std::make_unique<leaf>();
    // A map that grows at its end leaves full leaves behind.
    const bool at_end = begin > full.begins[leaf_room - 1];
    const std::uint32_t stay = at_end ? leaf_room : leaf_room / 2;
    next->count = leaf_room - stay;
    std::copy_n(full.begins.begin() + stay, next->count, next->begins.begin());
    std::copy_n(full.intervals.begin() + stay, next->count, next->intervals.begin());
    full.count = stay;
    const std::uint64_t first = at_end ? begin : next->begins[0];
    firsts_.insert(firsts_.begin() + static_cast<std::ptrdiff_t>(in) + 1, first);
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(in) + 1, std::move(next));
    if (begin >= first) ++in;
    recent_ = {in, in};
  }
  interval& made = take();
  made.begin = begin;
  made.end = end;
  if (like != nullptr) {
    made.writer = like->writer;
    for (std::uint32_t i = 0; i < like->readers; ++i)
      add_reader(made, reader_of(const_cast<interval&>(*like), i), [](unit_name) { return false; });
  }
  leaf& l = *leaves_[in];
  const std::uint32_t at = rank_of(l.begins.data(), l.count, begin);
  std::copy_backward(l.begins.begin() + at, l.begins.begin() + l.count, l.begins.begin() + l.count + 1);
  std::copy_backward(l.intervals.begin() + at, l.intervals.begin() + l.count, l.intervals.begin() + l.count + 1);
  l.begins[at] = begin;
  l.intervals[at] = &made;
  ++l.count;
  ++count_;
  table_[slot_of(begin)] = &made;
  return made;
}

interval& access_map::take() {
  if (free_.empty()) {
    slabs_.push_back(std::make_unique<interval[]>(slab_room));
    free_.reserve(slabs_.size() * slab_room);
    for (std::size_t i = slab_room; i-- > 0;) free_.push_back(&slabs_.back()[i]);
  }
  interval& taken = *free_.back();
  free_.pop_back();
  return taken;
}

void access_map::give_back(interval& it) noexcept {
  if (interval*& known = table_[slot_of(it.begin)]; known == &it) known = nullptr;
  delete[] it.more;
  it = {};
  free_.push_back(&it);  // has room: take() reserved it
  --count_;
}

void access_map::pack() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i]->count == 0) continue;
    // Merges two leaves if they fit into half of one.
    if (kept > 0 && leaves_[kept - 1]->count + leaves_[i]->count <= leaf_room / 2) {
      leaf& into = *leaves_[kept - 1];
      std::copy_n(leaves_[i]->begins.begin(), leaves_[i]->count, into.begins.begin() + into.count);
      std::copy_n(leaves_[i]->intervals.begin(), leaves_[i]->count, into.intervals.begin() + into.count);
      into.count += leaves_[i]->count;
      continue;
    }
    firsts_[kept] = kept == 0 ? 0 : firsts_[i];
    std::swap(leaves_[kept++], leaves_[i]);
  }
  leaves_.resize(kept);
  firsts_.resize(kept);
  recent_ = {};
  sweep_at_ = std::max<std::size_t>(1024, 2 * count_);
}

void access_map::clear() {
  for (auto& each : leaves_)
    for (std::uint32_t i = 0; i < each->count; ++i) give_back(*each->intervals[i]);
  leaves_.clear();
  firsts_.clear();
  recent_ = {};
  sweep_at_ = 1024;
}

}  // namespace situ::detail
