// The prefetcher of a cache: it follows streams of lines with a constant stride, and returns the lines to fetch ahead.
//
// A stream is identified by the 4 KiB of its lines. Two equal strides, so three lines, make a stream; then the
// prefetcher wants the next `lines` lines, less those that it wanted before; several streams that are active at a time
// share these lines. Streams are replaced least recently used first. A stride of one line gives a next-line prefetcher.
// A stream stops at the end of its page, which has 4 KiB unless page_bytes says otherwise; in a larger page a stream
// goes on from one 4 KiB to the next.
//
// Worked example (4 lines ahead): accesses to lines 10, 11, 12 of a page: at 12, lines 13 to 16 are wanted; at 13, just
// line 17. Lines 10, 13, 16: at 16, lines 19, 22, 25, 28. If another stream was active among the last accesses (as many
// as streams are followed), each stream has two lines ahead.
//
// Not thread-safe. cost: linear in the streams.
#pragma once

#include <situ/base/error.h>

#include "model/parts/warm_state.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace situ::model {

class stream_prefetcher {
 public:
  // pre: line_bytes is a power of two up to 4096, page_bytes a multiple of 4096.
  stream_prefetcher(std::uint32_t streams, std::uint32_t lines, std::uint32_t line_bytes,
                    std::uint64_t page_bytes = 4096)
      : streams_(streams),
        ahead_{lines},
        lines_a_part_{std::max<std::uint64_t>(1, 4096 / line_bytes)},
        lines_a_page_{std::max<std::uint64_t>(1, page_bytes / line_bytes)} {}

  [[nodiscard]] bool exists() const noexcept { return !streams_.empty() && ahead_ > 0; }

  // Records that the cache was asked for a line. Calls fetch(line) for each wanted line, the nearest first, until fetch
  // returns false: that line, and those after it, are wanted again next time. pre: exists().
  template <class Fetch>
  void see(std::uint64_t line, Fetch&& fetch) {
    stream& s = stream_of(line);
    s.used = ++time_;
    const auto step = static_cast<std::int64_t>(line - s.last);
    if (step == 0) return;
    if (step != s.stride) {
      s.stride = step;
      s.goes_on = false;
      s.next = line;
      s.last = line;
      return;
    }
    s.last = line;
    // lines that the stream has passed need no fetching
    if (static_cast<std::int64_t>(s.next - line) / step < 1) s.next = line + static_cast<std::uint64_t>(step);
    s.goes_on = true;
    const auto ahead = static_cast<std::int64_t>(std::max<std::size_t>(1, ahead_ / streams_that_go_on()));
    const std::uint64_t page = line / lines_a_page_;
    for (; s.next / lines_a_page_ == page && static_cast<std::int64_t>(s.next - line) / step <= ahead;
         s.next += static_cast<std::uint64_t>(step))
      if (!fetch(s.next)) return;
  }

  // Append the streams to words, and take them from such words. load() throws bad_file for a stream that see() never
  // makes.
  void save(state_words& to) const {
    if (streams_.empty()) return;
    to.push_back(time_);
    for (const stream& s : streams_)
      to.insert(to.end(), {s.part, s.last, s.next, static_cast<std::uint64_t>(s.stride), s.used,
                           static_cast<std::uint64_t>(s.goes_on)});
  }
  void load(state_reader& from) {
    if (streams_.empty()) return;
    time_ = from.next();
    for (stream& s : streams_) {
      const std::span<const std::uint64_t> words = from.next(6);
      s = {.part = words[0],
           .last = words[1],
           .next = words[2],
           .stride = static_cast<std::int64_t>(words[3]),
           .used = words[4],
           .goes_on = words[5] != 0};
      if (!is_possible(s))
        throw_error(errc::bad_file,
                    "a prefetcher has a stream that leaves its page; save the state again by situ model run --save");
    }
  }

 private:
  struct stream {
    std::uint64_t part = ~std::uint64_t{0};  // index of its 4 KiB
    std::uint64_t last = 0;
    std::uint64_t next = 0;  // next line to fetch
    std::int64_t stride = 0;
    std::uint64_t used = 0;
    bool goes_on = false;  // the stream has had two equal strides
  };
  // A stream steps within its page, and the line that it fetches next is at most one step outside. A stream of one line
  // has no next line.
  [[nodiscard]] bool is_possible(const stream& s) const noexcept {
    const auto longest = static_cast<std::int64_t>(lines_a_page_);
    const std::uint64_t page = s.last / lines_a_page_;
    return s.stride == 0 || (s.stride >= -longest && s.stride <= longest &&
                             (s.next / lines_a_page_ == page ||
                              (s.next - static_cast<std::uint64_t>(s.stride)) / lines_a_page_ == page));
  }
  [[nodiscard]] std::size_t streams_that_go_on() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(
        streams_, [&](const stream& s) { return s.goes_on && s.used + streams_.size() > time_; }));
  }
  [[nodiscard]] stream& stream_of(std::uint64_t line) noexcept {
    const std::uint64_t part = line / lines_a_part_;
    stream* oldest = &streams_.front();
    stream* comes_in = nullptr;
    for (stream& s : streams_) {
      if (s.part == part) return s;
      if (s.used < oldest->used) oldest = &s;
      if (s.stride != 0 && s.last + static_cast<std::uint64_t>(s.stride) == line &&
          s.last / lines_a_page_ == line / lines_a_page_)
        comes_in = &s;
    }
    if (comes_in != nullptr) {
      comes_in->part = part;
      return *comes_in;
    }
    *oldest = {.part = part, .last = line};
    return *oldest;
  }

  std::vector<stream> streams_;
  std::uint32_t ahead_;
  std::uint64_t lines_a_part_;
  std::uint64_t lines_a_page_;
  std::uint64_t time_ = 0;
};

}  // namespace situ::model
