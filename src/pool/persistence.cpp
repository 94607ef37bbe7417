#include "pool/persistence.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/host.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace situ::detail {
namespace {

constexpr std::uintptr_t line_bytes = 64;
// With more ranges than these, one call for the whole file is cheaper than one for each.
constexpr std::size_t most_ranges = 8;

#if defined(__x86_64__)
__attribute__((target("clwb"))) void write_back_line(const void* line) { _mm_clwb(const_cast<void*>(line)); }
__attribute__((target("clflushopt"))) void flush_line_unordered(const void* line) {
  _mm_clflushopt(const_cast<void*>(line));
}
void flush_line(const void* line) { _mm_clflush(line); }
#endif

template <class Flush>
void for_each_line(const std::byte* at, std::size_t bytes, Flush flush) {
  const auto end = reinterpret_cast<std::uintptr_t>(at) + bytes;
  for (std::uintptr_t line = reinterpret_cast<std::uintptr_t>(at) / line_bytes * line_bytes; line < end;
       line += line_bytes)
    flush(reinterpret_cast<const void*>(line));
}

}  // namespace

std::string_view name(pool_step step) noexcept {
  constexpr std::string_view names[] = {"create",       "grow_first", "grow_second",   "snapshot",   "publish",
                                        "keep_checks",  "checks",     "commit",        "end",        "restore",
                                        "restored_end", "append",     "forget",        "checkpoint", "checkpoint_end",
                                        "move_begin",   "move_mark",  "move_pointers", "move_end"};
  static_assert(std::size(names) == static_cast<std::size_t>(pool_step::count));
  return names[static_cast<std::size_t>(step)];
}
std::string_view name(pool_medium medium) noexcept {
  switch (medium) {
    case pool_medium::page_cache: return "page cache";
    case pool_medium::dax: return "DAX";
    case pool_medium::volatile_memory: return "file system in memory";
  }
  return "";
}
std::string_view name(flush_primitive primitive) noexcept {
  switch (primitive) {
    case flush_primitive::none: return "none";
    case flush_primitive::clflush: return "clflush";
    case flush_primitive::clflushopt: return "clflushopt";
    case flush_primitive::clwb: return "clwb";
    case flush_primitive::msync: return "msync";
    case flush_primitive::fdatasync: return "fdatasync";
  }
  return "";
}

flush_primitive best_line_flush() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    if ((b & 1u << 24) != 0) return flush_primitive::clwb;
    if ((b & 1u << 23) != 0) return flush_primitive::clflushopt;
  }
  return flush_primitive::clflush;  // as old as SSE2, which x86-64 has
#else
  return flush_primitive::msync;
#endif
}

void persistence::attach(int descriptor, std::byte* base, pool_medium medium, pool_promise promise, bool is_private,
                         std::string path) {
  descriptor_ = descriptor;
  base_ = base;
  medium_ = medium;
  path_ = std::move(path);
  if (is_private) {
    primitive_ = flush_primitive::fdatasync;
  } else if (promise == pool_promise::process || medium == pool_medium::volatile_memory) {
    primitive_ = flush_primitive::none;
  } else {
    primitive_ = medium == pool_medium::dax ? best_line_flush() : flush_primitive::msync;
  }
  is_needed_ = recorder_ != nullptr || primitive_ != flush_primitive::none;
}

void persistence::flush_slow(const std::byte* at, std::size_t bytes, pool_step step) {
  if (primitive_ == flush_primitive::fdatasync) return write(static_cast<std::uint64_t>(at - base_), at, bytes, step);
  if (recorder_ != nullptr) return recorder_->flush(at, bytes, step);
  if (bytes == 0) return;
#if defined(__x86_64__)
  if (primitive_ == flush_primitive::clwb) return for_each_line(at, bytes, write_back_line);
  if (primitive_ == flush_primitive::clflushopt) return for_each_line(at, bytes, flush_line_unordered);
  if (primitive_ == flush_primitive::clflush) return for_each_line(at, bytes, flush_line);
#endif
  const auto begin = reinterpret_cast<std::uintptr_t>(at) / page_bytes * page_bytes;
  const auto end = (reinterpret_cast<std::uintptr_t>(at) + bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (!noted_.empty() && begin <= noted_.back().end && end >= noted_.back().begin) {
    noted_.back().begin = std::min(noted_.back().begin, begin);
    noted_.back().end = std::max(noted_.back().end, end);
  } else {
    noted_.push_back({begin, end});
  }
}

void persistence::write(std::uint64_t offset, const std::byte* from, std::size_t bytes, pool_step step) {
  if (recorder_ != nullptr) recorder_->write(offset, from, bytes, step);
  while (bytes != 0) {
    const ssize_t written = ::pwrite(descriptor_, from, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int failed = written < 0 ? errno : EIO;
      const bool is_full = failed == ENOSPC || failed == EDQUOT || failed == EFBIG;
      has_failed_ = has_failed_ || !is_full;
      throw_error(is_full ? errc::out_of_memory : errc::bad_file,
                  fmt::format("pool {}: {} bytes cannot be written at byte {}: {}; {}", path_, bytes, offset,
                              std::strerror(failed), is_full ? "free some of its disk" : "look at the device"));
    }
    offset += static_cast<std::uint64_t>(written);
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

int persistence::sync_file() const noexcept { return ::fdatasync(descriptor_) == 0 ? 0 : errno; }

void persistence::fence_slow(pool_step step) {
  const bool has_failed_before = has_failed_;
  has_failed_ = true;  // until the fence returns
  if (recorder_ != nullptr) {
    recorder_->fence(step);
  } else if (primitive_ == flush_primitive::fdatasync) {
    if (const int failed = sync_file(); failed != 0)
      throw_error(errc::bad_file,
                  fmt::format("pool {}: cannot be brought to its device: {}; what the last transaction changed may or "
                              "may not stay. Look at the device, then open the pool anew",
                              path_, std::strerror(failed)));
  } else {
#if defined(__x86_64__)
    if (primitive_ != flush_primitive::msync) {
      _mm_sfence();
    } else {
      sync_pages();
    }
#else
    sync_pages();
#endif
  }
  has_failed_ = has_failed_before;
}

void persistence::sync_pages() {
  if (noted_.empty()) return;
  std::sort(noted_.begin(), noted_.end(), [](page_range a, page_range b) { return a.begin < b.begin; });
  std::size_t last = 0;
  for (const page_range& each : noted_) {
    if (each.begin <= noted_[last].end) {
      noted_[last].end = std::max(noted_[last].end, each.end);
    } else {
      noted_[++last] = each;
    }
  }
  noted_.resize(last + 1);
  int failed = 0;
  if (noted_.size() > most_ranges) {
    // msync and fdatasync both write pages that were dirtied through any mapping, because all mappings share the page
    // cache.
    if (::fdatasync(descriptor_) != 0) failed = errno;
  } else {
    for (const page_range& each : noted_)
      if (::msync(reinterpret_cast<void*>(each.begin), each.end - each.begin, MS_SYNC) != 0) failed = errno;
  }
  const std::uintptr_t from = noted_.front().begin;
  noted_.clear();
  if (failed != 0)
    throw_error(errc::bad_file,
                fmt::format("pool {}: cannot be brought to its device, from byte {} on: {}; what the last transaction "
                            "changed may or may not stay. Look at the device, then open the pool anew",
                            path_, from - reinterpret_cast<std::uintptr_t>(base_), std::strerror(failed)));
}

}  // namespace situ::detail
