// After locking a shared pool a process follows the changes of the others: the size of the heap, the changed words of
// the allocator, and the death of a process.
#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "os/host.h"
#include "pool/open_pool.h"

namespace situ::detail {

// For every opener after the first. No process writes during the call.
void open_pool::read_again() {
  seen_changes_ = sharing_.changes() - pool_ring_words - 1;  // so many that all are read again
  const looking guard{*this};
  file_.read_state();
  log_.follow();
  heap_.read();
  seen_changes_ = sharing_.changes();
}

// --- for writers ---

void open_pool::catch_up() {
  // Until the call succeeds, this process has missed more changes than the ring holds.
  const std::uint64_t seen = std::exchange(seen_changes_, sharing_.changes() - pool_ring_words - 1);
  const std::uint64_t missed = sharing_.changes() - seen;
  const bool is_torn = sharing_.is_torn();
  if (is_torn || sharing_.chunks() != file_.chunks()) file_.read_state();
  if (is_torn) {
    recover();
    sharing_.mend();
  }
  log_.follow();
  if (is_torn) {
    // recover() has read the heap with the restored bytes.
  } else if (missed <= pool_ring_words) {
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t i = 0; i < missed; ++i) offsets.push_back(sharing_.change(seen + i));
    heap_.follow(offsets);
  } else {
    heap_.read();
  }
  seen_changes_ = sharing_.changes();
}

// --- for readers ---

void open_pool::begin_reading(pool_section& within) {
  sharing_.lock_shared(within);
  if (within.of == nullptr) return;
  bool is_torn = sharing_.is_found_torn();
  while (is_torn && file_.company() == pool_company::writing) {
    end_reading(within);
    {
      const std::lock_guard guard{sharing_};
      if (is_behind()) catch_up();
    }
    sharing_.lock_shared(within);
    is_torn = sharing_.is_found_torn();
  }
  if (file_.company() != pool_company::reading) return;
  const std::uint64_t restored = private_sequence_.load(std::memory_order_acquire);
  if (!is_torn && restored == 0) return;
  if (is_torn && restored == *file_.at<const std::uint64_t>(pool_sequence_offset)) return;
  try {
    follow_as_reader();
  } catch (...) {
    end_reading(within);
    throw;
  }
}

// No process writes during the call, and every reader of this process calls it before it reads.
void open_pool::follow_as_reader() {
  const std::lock_guard guard{private_lock_};
  const std::uint64_t sequence = *file_.at<const std::uint64_t>(pool_sequence_offset);
  const std::uint64_t wanted = sharing_.is_found_torn() ? sequence : 0;
  if (private_sequence_.load(std::memory_order_relaxed) == wanted) return;
  file_.drop_private(private_pages_);
  private_pages_.clear();
  if (wanted != 0) {
    file_.read_state();
    log_.read();
    restore_privately();
  }
  private_sequence_.store(wanted, std::memory_order_release);
}

void open_pool::restore_privately() {
  restored_ranges_ = 0;
  std::vector<pool_file::page_range> pages;
  log_.for_each([&](std::uint64_t offset, std::uint64_t bytes) {
    pages.push_back({offset / page_bytes * page_bytes, (offset + bytes + page_bytes - 1) / page_bytes * page_bytes});
    ++restored_ranges_;
  });
  std::sort(pages.begin(), pages.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (const pool_file::page_range& each : pages) {
    if (!private_pages_.empty() && each.begin <= private_pages_.back().end) {
      private_pages_.back().end = std::max(private_pages_.back().end, each.end);
    } else {
      private_pages_.push_back(each);
    }
  }
  file_.make_private(private_pages_, true);
  restored_bytes_ = log_.restore(0);
  file_.make_private(private_pages_, false);
  private_sequence_.store(*file_.at<const std::uint64_t>(pool_sequence_offset), std::memory_order_release);
}

}  // namespace situ::detail
