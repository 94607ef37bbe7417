// One collective in progress: its number, and the parts that its members send each other. Part of collective.h.
//
// Invariants
//   1. A part is found by team, number, step and source. Parts of one step and source are taken in the order in which
//      they were sent: a channel keeps it.
//   2. One task at a time receives the parts of a collective, so several collectives of a team may be under way.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/base/detail/test_points.h>
#include <situ/memory/detail/collective_call.h>
#include <situ/runtime/detail/parcel.h>
#include <situ/runtime/future.h>
#include <situ/runtime/serialize.h>
#include <situ/runtime/task.h>
#include <situ/runtime/team.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace situ::detail {

// A part that has arrived.
struct arrived_part {
  std::uint32_t source;  // index in the team
  std::vector<std::byte> bytes;
};

// True if elements travel as their own bytes. (Arrived parts have the alignment of operator new.)
template <class T>
inline constexpr bool travels_in_bulk = copies_in_bulk<T> && !has_padding<T>();

// Members with successive indices whose places are on one host.
struct member_run {
  std::uint32_t first;
  std::uint32_t size;
};

// A team divided into runs; a team on one host is one run.
class member_runs {
 public:
  // Takes the first member of each run, in order, beginning with 0, and the number of members.
  member_runs(std::vector<std::uint32_t> firsts, std::uint32_t members) : bounds_{std::move(firsts)} {
    bounds_.push_back(members);
  }
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(bounds_.size() - 1); }
  [[nodiscard]] std::uint32_t of(std::uint32_t member) const noexcept {
    return static_cast<std::uint32_t>(std::upper_bound(bounds_.begin(), bounds_.end(), member) - bounds_.begin() - 1);
  }
  [[nodiscard]] std::uint32_t first_of(std::uint32_t run) const noexcept { return bounds_[run]; }
  [[nodiscard]] std::uint32_t last_of(std::uint32_t run) const noexcept { return bounds_[run + 1] - 1; }
  [[nodiscard]] member_run run_of(std::uint32_t member) const noexcept {
    const std::uint32_t run = of(member);
    return {.first = bounds_[run], .size = bounds_[run + 1] - bounds_[run]};
  }

 private:
  std::vector<std::uint32_t> bounds_;
};

// One collective call of this member. The constructor tags its messages with the collective's number; it throws
// place_lost_error if a member is lost, and bad_argument if another member's call is known to differ.
class collective {
 public:
  static constexpr std::uint32_t any_member = UINT32_MAX;

  collective(const team& members, const collective_call& call, const std::source_location& where);
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] const member_runs& runs() const noexcept { return *runs_; }
  [[nodiscard]] member_run own_run() const noexcept { return runs_->run_of(index_); }

  template <class T>
  void send(std::uint32_t to, std::uint32_t step, const T& value) {
    send_bytes(to, step, wire<T>::size(value), [&](wire_writer& writer) { wire<T>::write(writer, value); });
  }
  template <class T>
  [[nodiscard]] T receive(std::uint32_t from, std::uint32_t step) {
    return read<T>(take_part(from, step));
  }
  template <class T>
  [[nodiscard]] static T read(const arrived_part& part) {
    wire_reader reader{part.bytes.data(), part.bytes.size()};
    return wire<T>::read(reader);
  }

  // Send and receive the elements of spans, whose length both the sender and the receiver know.
  template <class T>
  void send_elements(std::uint32_t to, std::uint32_t step, std::span<T> elements);
  template <class T>
  void receive_elements(std::uint32_t from, std::uint32_t step, std::span<T> elements);
  // Receives `count` elements without storing them: calls use(i, element) for each.
  template <class T, class Use>
  void receive_each(std::uint32_t from, std::uint32_t step, std::size_t count, Use use);

  // Waits until `count` parts of a step have arrived from a member, or from any member.
  void await_parts(std::uint32_t from, std::uint32_t step, std::size_t count);
  // Takes the next part of a step from a member; with any_member, the arrived part of the lowest index.
  [[nodiscard]] arrived_part take_part(std::uint32_t from, std::uint32_t step);

  // Says that the collective goes on in a task, concurrently with the code that began it.
  void become_task() noexcept { is_task_ = true; }
  // In a task: throws place_lost_error if this task has not been told of an end, even if the part that it waits for
  // has arrived. The code that began the collective may have been told already, and may have freed the elements.
  void check_told() const {
    if (is_task_) throw_if_untold();
  }
  // Abandons the collective: drops the parts that have arrived for it and those that still arrive.
  void abandon();

 private:
  template <class Write>
  void send_bytes(std::uint32_t to, std::uint32_t step, std::size_t bytes, Write write) {
    send_parcel(channel_to(to), message_kind::medium_message, part_handler(), words(step), bytes,
                [&](wire_writer& writer) {
                  check_told();  // send_parcel may have waited for room
                  write(writer);
                });
    SITU_POINT(part_sent);
  }
  void check_bytes(const arrived_part& part, std::size_t bytes) const {
    if (part.bytes.size() != bytes) [[unlikely]]
      throw_other_count(part.source);
  }
  static void throw_if_untold();
  [[noreturn]] void throw_other_count(std::uint32_t member) const;
  [[nodiscard]] outgoing& channel_to(std::uint32_t to) const;
  [[nodiscard]] static function_id part_handler() noexcept;
  [[nodiscard]] std::array<std::uint64_t, 3> words(std::uint32_t step) const noexcept;

  team_state* team_;
  const member_runs* runs_;
  collective_call call_;
  std::source_location where_;
  std::uint64_t tag_;
  std::uint32_t size_;
  std::uint32_t index_;
  bool is_task_ = false;
};

template <class T>
void collective::send_elements(std::uint32_t to, std::uint32_t step, std::span<T> elements) {
  using element = std::remove_const_t<T>;
  check_told();
  if constexpr (travels_in_bulk<element>) {
    send_bytes(to, step, elements.size_bytes(),
               [&](wire_writer& writer) { writer.write(elements.data(), elements.size_bytes()); });
  } else {
    std::size_t bytes = 0;
    for (const element& each : elements) bytes += wire<element>::size(each);
    send_bytes(to, step, bytes, [&](wire_writer& writer) {
      for (const element& each : elements) wire<element>::write(writer, each);
    });
  }
}

template <class T>
void collective::receive_elements(std::uint32_t from, std::uint32_t step, std::span<T> elements) {
  if constexpr (travels_in_bulk<T> && std::is_copy_assignable_v<T>) {
    const arrived_part part = take_part(from, step);
    check_bytes(part, elements.size_bytes());
    if (!elements.empty()) std::memcpy(elements.data(), part.bytes.data(), elements.size_bytes());
  } else {
    receive_each<T>(from, step, elements.size(), [&](std::size_t i, T&& element) { elements[i] = std::move(element); });
  }
}

template <class T, class Use>
void collective::receive_each(std::uint32_t from, std::uint32_t step, std::size_t count, Use use) {
  const arrived_part part = take_part(from, step);
  if constexpr (travels_in_bulk<T>) {
    check_bytes(part, count * sizeof(T));
    const std::byte* const bytes = part.bytes.data();
    for (std::size_t i = 0; i < count; ++i) {
      alignas(T) std::byte storage[sizeof(T)];
      std::memcpy(storage, bytes + i * sizeof(T), sizeof(T));
      use(i, std::move(*std::launder(reinterpret_cast<T*>(storage))));
    }
  } else {
    wire_reader reader{part.bytes.data(), part.bytes.size()};
    for (std::size_t i = 0; i < count; ++i) use(i, wire<T>::read(reader));
    if (reader.left() != 0) throw_other_count(part.source);
  }
}

// A collective that has its number, with the work that is left.
template <class Body>
class begun_collective {
 public:
  begun_collective(const collective& group, Body&& body) : group_{group}, body_{std::move(body)} {}
  void become_task() noexcept { group_.become_task(); }
  auto operator()() {
    try {
      group_.check_told();
      return body_(group_);
    } catch (...) {
      group_.abandon();
      throw;
    }
  }

 private:
  collective group_;
  Body body_;
};

template <class Body>
[[nodiscard]] begun_collective<Body> begin_collective(const team& members, const collective_call& call,
                                                      const std::source_location& where, Body body) {
  return {collective{members, call, where}, std::move(body)};
}

// Begins a collective and continues it in a task. Errors go to the future, so that the caller can wait for the
// collectives that are under way.
template <class Begin>
[[nodiscard]] auto go_on_later(const team& members, Begin begin) {
  using result = std::invoke_result_t<std::invoke_result_t<Begin>>;
  try {
    auto begun = begin();
    begun.become_task();
    return async([members, begun = std::move(begun)]() mutable { return begun(); });
  } catch (...) {
    auto failed = make_state<result>();
    failed->fail(std::current_exception());
    return future<result>{std::move(failed)};
  }
}

inline void check_root(const team& members, std::uint32_t root) {
  SITU_ASSERT(1, root < members.size(), "the root of a collective is an index within its team, less than team.size()");
}

}  // namespace situ::detail
