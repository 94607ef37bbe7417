#include <situ/base/error.h>
#include <situ/base/log.h>
#include <situ/fabric/am.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/detail/far.h>
#include <situ/fabric/rma.h>
#include <situ/fabric/shared_span.h>
#include <situ/fabric/signal.h>
#include <situ/memory/detail/losses.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

#include "fabric/observe.h"
#include "memory/segment.h"

namespace situ::detail {
namespace {

std::string_view verb(access how) noexcept {
  switch (how) {
    case access::put: return "put";
    case access::get: return "get";
    case access::atomic: return "atomic";
  }
  return "access";
}

[[noreturn]] void refuse(const place_context& context, access how, std::uintptr_t address, std::size_t bytes) {
  if (context.place_count == 0) throw_no_runtime(fmt::format("{} of {} bytes at {:#x}", verb(how), bytes, address));
  const std::uintptr_t index = (address - context.base) >> context.slice_shift;
  if (index >= context.place_count)
    throw_error(
        errc::bad_address,
        fmt::format(
            "{} of {} bytes at {:#x}: the address is in no place's segment ({}); pass memory from situ::allocate",
            verb(how), bytes, address, address == 0 ? "it is null" : "it is private memory"));
  const std::uint64_t open_end = context.base + (index << context.slice_shift) + context.heap_offset +
                                 context.job->slot(static_cast<std::uint32_t>(index)).extent.load();
  throw_error(errc::bad_address,
              fmt::format("{} of {} bytes at {:#x}: outside the open part of place {}'s segment, [{:#x}, {:#x})",
                          verb(how), bytes, address, index,
                          context.base + (index << context.slice_shift) + context.heap_offset, open_end));
}

// In checked mode: checks that the whole access is in one allocated block.
void check_allocated(const place_context& context, access how, std::uintptr_t address, std::size_t bytes) {
  const auto block = segment::find_block(context, address);
  const std::uint32_t owner = ptr<std::byte>{reinterpret_cast<std::byte*>(address)}.place().index();
  if (!block || !block->live)
    throw_error(errc::bad_address, fmt::format("{} of {} bytes at {:#x}: {} at place {}", verb(how), bytes, address,
                                               block ? "freed memory" : "freed or never allocated memory", owner));
  if (bytes > block->start + block->size - address)
    throw_error(errc::bad_address,
                fmt::format("{} of {} bytes at {:#x}: runs past the end of its block of {} bytes at {:#x}, place {}",
                            verb(how), bytes, address, block->size, block->start, owner));
}

void count(place_context& context, access how, std::uint32_t target, std::size_t bytes) noexcept {
  pair_counts& counts = counts_towards(context, target);
  switch (how) {
    case access::put:
      ++counts.puts;
      counts.put_bytes += bytes;
      return record_access(context, event_kind::put, target, bytes);
    case access::get:
      ++counts.gets;
      counts.get_bytes += bytes;
      return record_access(context, event_kind::get, target, bytes);
    case access::atomic: ++counts.atomics; return record_access(context, event_kind::atomic, target, bytes);
  }
}

[[nodiscard]] std::uint32_t place_of(const place_context& context, std::uintptr_t address) noexcept {
  return static_cast<std::uint32_t>((address - context.base) >> context.slice_shift);
}

[[noreturn]] void refuse_to_touch(const place_context& context, access how, std::uintptr_t address, std::size_t bytes) {
  throw_error(errc::bad_address,
              fmt::format("{} of {} bytes at {:#x}: memory of place {}, which is on another host than place {}; it is "
                          "read and written by situ::get and situ::put alone",
                          verb(how), bytes, address, place_of(context, address), context.place));
}

// Returns the far_hosts that reach the place of this address; null if the place is on this host, or if there is none.
[[nodiscard]] far_hosts* hosts_of(const place_context& context, std::uintptr_t address) noexcept {
  if (context.far == nullptr) return nullptr;
  const std::uintptr_t index = (address - context.base) >> context.slice_shift;
  return index < context.place_count && context.far->is_far(static_cast<std::uint32_t>(index)) ? context.far : nullptr;
}

// For accesses to another host: checks that the access fits the slice, however much of the slice is open. That host
// checks the rest.
void check_slice(const place_context& context, access how, std::uintptr_t address, std::size_t bytes) {
  const std::uint64_t offset = address & context.slice_mask;
  if (offset >= context.heap_offset && bytes <= context.slice_mask + 1 - offset) return;
  throw_error(errc::bad_address, fmt::format("{} of {} bytes at {:#x}: outside the heap of place {}'s segment",
                                             verb(how), bytes, address, place_of(context, address)));
}

void count_far(place_context& context, access how, std::uintptr_t address, std::size_t bytes) noexcept {
  if (context.observed) count(context, how, place_of(context, address), bytes);
}

// Checks that the access is in the open part of a segment, and returns the extent of that part.
[[nodiscard]] std::uint64_t check_extent(const place_context& context, access how, std::uintptr_t address,
                                         std::size_t bytes) {
  const std::uintptr_t offset = address - context.base;
  const std::uintptr_t index = offset >> context.slice_shift;
  if (index >= context.place_count) refuse(context, how, address, bytes);
  if (hosts_of(context, address) != nullptr) refuse_to_touch(context, how, address, bytes);
  // acquire: writes of the owner before it opened the range
  const std::uint64_t extent =
      context.job->slot(static_cast<std::uint32_t>(index)).extent.load(std::memory_order_acquire);
  const std::uint64_t from_heap = (offset & context.slice_mask) - context.heap_offset;
  if (from_heap >= extent || bytes > extent - from_heap) refuse(context, how, address, bytes);
  return extent;
}

}  // namespace

void check_access_slow(place_context& context, access how, std::uintptr_t address, std::size_t bytes) {
  const std::uint64_t extent = check_extent(context, how, address, bytes);
  const std::uint32_t target = place_of(context, address);
  if (context.job->checked) check_allocated(context, how, address, bytes);
  if (context.observed) {
    count(context, how, target, bytes);
  } else if (!context.job->checked) {
    const_cast<std::uint64_t*>(context.limit)[target] = extent;
  }
}

namespace {
bool give_back_far(place_context& context, std::uintptr_t block) {
  far_hosts* const far = hosts_of(context, block);
  if (far != nullptr) far->give_back(block);
  return far != nullptr;
}
}  // namespace

void join_hosts(place_context& context, far_hosts& hosts) noexcept {
  context.far = &hosts;
  for (std::uint32_t p = 0; p < context.place_count; ++p)
    if (hosts.is_far(p)) const_cast<std::uint64_t*>(context.limit)[p] = 0;
  if (context.give_back_elsewhere == nullptr) context.give_back_elsewhere = &give_back_far;
}

void leave_hosts(place_context& context) noexcept {
  context.far = nullptr;
  if (context.give_back_elsewhere == &give_back_far) context.give_back_elsewhere = nullptr;
}

bool put_slow(place_context& context, std::uintptr_t to, const void* from, std::size_t bytes) {
  if (far_hosts* const far = hosts_of(context, to)) {
    check_slice(context, access::put, to, bytes);
    far->put(to, from, bytes);
    count_far(context, access::put, to, bytes);
    return true;
  }
  check_access_slow(context, access::put, to, bytes);
  return false;
}

bool get_slow(place_context& context, void* to, std::uintptr_t from, std::size_t bytes) {
  if (far_hosts* const far = hosts_of(context, from)) {
    check_slice(context, access::get, from, bytes);
    far->get(to, from, bytes);
    count_far(context, access::get, from, bytes);
    return true;
  }
  check_access_slow(context, access::get, from, bytes);
  return false;
}

namespace {
// Copies between two other hosts by way of this place. If one end is open only in part, the elements before that may
// have been written.
void copy_through_here(place_context& context, std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  constexpr std::size_t most_at_once = std::size_t{1} << 20;
  check_slice(context, access::put, to, bytes);
  check_slice(context, access::get, from, bytes);
  const auto room = std::make_unique_for_overwrite<std::byte[]>(std::min(bytes, most_at_once));
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min(bytes - done, most_at_once);
    (void)get_slow(context, room.get(), from + done, now);
    (void)put_slow(context, to + done, room.get(), now);
    done += now;
  }
}
}  // namespace

bool copy_slow(place_context& context, std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  const bool is_source_far = hosts_of(context, from) != nullptr;
  const bool is_target_far = hosts_of(context, to) != nullptr;
  if (!is_source_far && !is_open(context, from, bytes)) check_access_slow(context, access::get, from, bytes);
  if (!is_target_far && !is_open(context, to, bytes)) check_access_slow(context, access::put, to, bytes);
  if (is_source_far && is_target_far) {
    copy_through_here(context, to, from, bytes);
  } else if (is_source_far) {
    (void)get_slow(context, reinterpret_cast<void*>(to), from, bytes);
  } else if (is_target_far) {
    (void)put_slow(context, to, reinterpret_cast<const void*>(from), bytes);
  }
  return is_source_far || is_target_far;
}

bool box_slow(place_context& context, access how, const strided_box& box, std::uintptr_t begin, std::size_t bytes) {
  if (far_hosts* const far = hosts_of(context, begin)) {
    check_slice(context, how, begin, bytes);
    far->move_box(how, box);
    count_far(context, how, begin, bytes);
    return true;
  }
  check_access_slow(context, how, begin, bytes);
  return false;
}

bool atomic_slow(place_context& context, const word_request& request, std::uint64_t& found) {
  const std::uint32_t bytes = bytes_of(request.type);
  if (far_hosts* const far = hosts_of(context, request.word)) {
    check_slice(context, access::atomic, request.word, bytes);
    check_aligned(request.word, bytes);
    found = far->atomic(request);
    count_far(context, access::atomic, request.word, bytes);
    return true;
  }
  check_access_slow(context, access::atomic, request.word, bytes);
  return false;
}

bool is_word_elsewhere(place_context& context, std::uintptr_t word, std::size_t bytes) {
  if (hosts_of(context, word) != nullptr) return true;
  check_access_slow(context, access::atomic, word, bytes);
  return false;
}

bool put_signal_slow(place_context& context, std::uintptr_t to, const void* from, std::size_t bytes,
                     const signal_change& signal) {
  if (far_hosts* const far = hosts_of(context, to)) {
    check_slice(context, access::put, to, bytes);
    check_slice(context, access::atomic, signal.word, bytes_of(signal.type));
    check_aligned(signal.word, bytes_of(signal.type));
    far->put_signal(to, from, bytes, signal);
    count_far(context, access::put, to, bytes);
    count_far(context, access::atomic, signal.word, bytes_of(signal.type));
    return true;
  }
  check_access_slow(context, access::put, to, bytes);
  return false;
}

std::uint64_t open_for_reads(std::uintptr_t address, std::size_t bytes) {
  const place_context& context = *current;
  if (context.observed && !context.job->checked && !context.job->trace)
    return check_extent(context, access::get, address, bytes);
  check_access(access::get, address, bytes);
  return context.limit[place_of(context, address)];  // 0 in checked mode, and if there is a trace
}

void count_reads(std::uintptr_t address, std::uint64_t reads, std::uint64_t bytes) noexcept {
  const place_context& context = *current;
  if (!context.observed) return;
  pair_counts& counts = counts_towards(context, place_of(context, address));
  counts.gets += reads;
  counts.get_bytes += bytes;
}

void throw_misaligned(std::uintptr_t address, std::size_t bytes) {
  throw_error(errc::misaligned,
              fmt::format("atomic of {} bytes at {:#x}: the address is not a multiple of {}", bytes, address, bytes));
}

void throw_signal_elsewhere(place destination, std::uintptr_t signal) {
  const std::uint32_t at = ptr<std::byte>{reinterpret_cast<std::byte*>(signal)}.place().index();
  throw_error(errc::bad_address,
              fmt::format("put_signal to place {} with a signal at place {}: both lie at one place, since they are "
                          "ordered there; put first, and send_signal then",
                          destination.index(), at));
}

void throw_no_such_place(std::uint32_t index) {
  const place_context& context = *current;
  if (context.callable_places == 0) throw_no_runtime(fmt::format("message to place {}", index));
  throw_error(errc::bad_argument,
              fmt::format("there is no place {}: the job has places 0 to {}", index, context.place_count - 1));
}

void throw_medium_too_large(std::size_t bytes) {
  throw_error(errc::bad_argument,
              fmt::format("a medium message carries at most {} bytes, not {}: send several, or a long message",
                          max_medium_bytes, bytes));
}

void throw_wrong_arguments(const message& m, std::size_t expected) {
  throw_error(errc::bad_message, fmt::format("a message from place {} carries {} arguments for a handler of {}: a "
                                             "stray write into the channels of place {}",
                                             m.source, m.argument_count, expected, m.self.context().place));
}

void take_long_payload(message& m) {
  const place_context& context = m.self.context();
  const std::uintptr_t address = m.head.words[cell::word_count - 2];
  const std::uint64_t bytes = m.head.words[cell::word_count - 1];
  const std::uintptr_t heap =
      context.base + (std::uintptr_t{context.place} << context.slice_shift) + context.heap_offset;
  // this place wrote it
  const std::uint64_t extent = context.job->slot(context.place).extent.load(std::memory_order_relaxed);
  const bool is_open = bytes == 0 || (address - heap < extent && bytes <= extent - (address - heap));
  if (m.kind != message_kind::long_message || !is_open)
    throw_error(errc::bad_message,
                fmt::format("a long message from place {} names {} bytes at {:#x}, which are not open at place {}",
                            m.source, bytes, address, context.place));
  m.payload = reinterpret_cast<std::byte*>(address);
  m.payload_bytes = bytes;
  invalidate(m.payload, bytes);
}

void write_long_payload(std::uint32_t target, ptr<void> destination, std::span<const std::byte> payload) {
  if (payload.empty()) return;
  place_context& context = *current;
  const std::uintptr_t to = destination.address();
  const bool is_elsewhere = hosts_of(context, to) != nullptr;
  if (!is_elsewhere) check_access(access::put, to, payload.size());
  if (place_of(context, to) != target)
    throw_error(errc::bad_address, fmt::format("long message to place {}: its destination {:#x} lies at place {}",
                                               target, to, place_of(context, to)));
  if (is_elsewhere) {
    (void)put_slow(context, to, payload.data(), payload.size());
  } else {
    copy_bytes(destination.local(), payload.data(), payload.size());
    write_back(destination.local(), payload.size());
  }
  SITU_POINT(long_payload_written);
}

void handler_threw(const message& m) noexcept {
  std::string what = "an unknown exception";
  try {
    throw;
  } catch (const std::exception& e) {
    what = fmt::format("{}: {}", demangle(typeid(e).name()), e.what());
  } catch (...) {}
  const std::uint32_t here = m.self.context().place;
  const std::string reason = fmt::format("a handler of an active message from place {} threw {}", m.source, what);
  log(log_level::error,
      fmt::format("place {}: {}; handlers must not throw, since nobody waits for them: use situ::at", here, reason));
  mark_lost(*m.self.context().job, here, reason);
  std::abort();
}

void throw_sizes_differ(std::size_t destination, std::size_t source) {
  throw_error(errc::bad_argument, fmt::format("{} elements cannot be copied to {}: both spans have the same size; use "
                                              "subspan, first or last",
                                              source, destination));
}

}  // namespace situ::detail
