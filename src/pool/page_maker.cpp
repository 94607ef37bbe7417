#include "pool/page_maker.h"

#include <sys/mman.h>

#include <algorithm>
#include <system_error>

namespace situ::detail {
namespace {

// The thread starts once this many pieces are wanted; faults make the pages of fewer pieces.
constexpr std::size_t least_pieces = 4;

}  // namespace

page_maker::page_maker(std::byte* begin, std::size_t bytes)
    : begin_{begin}, bytes_{bytes}, is_wanted_((bytes + piece_bytes - 1) / piece_bytes), wanted_(is_wanted_.size()) {}

page_maker::~page_maker() {
  pushed_.store(no_more, std::memory_order_release);
  pushed_.notify_one();
}

void page_maker::want_piece(std::size_t piece) {
  push(piece);
  // A caller that walks through memory, up or down, reaches the next piece's pages before the thread, so that piece is
  // wanted, too.
  const std::size_t next = piece + (piece - last_);
  const bool goes_on = last_ != no_more && (piece == last_ + 1 || last_ == piece + 1);
  last_ = piece;
  if (goes_on && next < is_wanted_.size() && !is_wanted_[next]) push(next);
}

void page_maker::push(std::size_t piece) {
  is_wanted_[piece] = true;
  wanted_[count_++] = static_cast<std::uint32_t>(piece);
  if (count_ < least_pieces) return;
  pushed_.store(count_, std::memory_order_release);  // publishes the entries of wanted_ to the thread
  if (count_ != least_pieces) return pushed_.notify_one();
  try {
    thread_ = os::worker{os::without_signals, [this] { run(); }};
  } catch (const std::system_error&) {  // no thread: pages are made by faults
  }
}

void page_maker::run() noexcept {
  for (std::size_t done = 0;;) {
    const std::size_t pushed = pushed_.load(std::memory_order_acquire);
    if (pushed == no_more) return;
    if (pushed == done) {
      pushed_.wait(done, std::memory_order_acquire);
      continue;
    }
    const std::size_t at = wanted_[done++] * piece_bytes;
    ::madvise(begin_ + at, std::min(piece_bytes, bytes_ - at), MADV_POPULATE_WRITE);
  }
}

}  // namespace situ::detail
