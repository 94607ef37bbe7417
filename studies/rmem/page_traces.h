// Programs as the pages that they touch, and what a cache of pages makes of them: with the policies of regions
// (src/rmem/replacement.h, read_ahead.h) as the pager uses them, and with Belady's optimum. No memory, no server.
#pragma once

#include <situ/rmem/region.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace situ::studies::rmem {

using page_trace = std::vector<std::uint64_t>;

// All over pages 0 to `pages` - 1, the same in each run.
[[nodiscard]] page_trace sequential(std::uint64_t pages, std::size_t passes);
// Every distance-th page, then those behind these, until all were touched. pre: distance > 0.
[[nodiscard]] page_trace strided(std::uint64_t pages, std::uint64_t distance, std::size_t passes);
// Drawn by Zipf's law with this exponent; which pages are the frequent ones is mixed.
[[nodiscard]] page_trace zipf(std::uint64_t pages, double exponent, std::size_t touches, unsigned seed);
// A list over all pages in random order, followed so often.
[[nodiscard]] page_trace pointer_chase(std::uint64_t pages, std::size_t passes, unsigned seed);
// A tenth of the pages, at random, and between each two of these a page of a scan over the rest.
[[nodiscard]] page_trace hot_and_scan(std::uint64_t pages, std::size_t touches, unsigned seed);

struct cache_options {
  std::uint32_t frames = 0;
  situ::rmem::replacement replace = situ::rmem::replacement::clock;
  situ::rmem::prefetch ahead = situ::rmem::prefetch::none;
  std::uint32_t prefetch_pages = 1;
  std::uint32_t pinned_every = 0;  // frames whose number this divides never go; 0: all may
};
struct cache_counts {
  std::size_t hits = 0;
  std::size_t missing = 0;
  std::size_t seen = 0;        // touches that unmapped pages told of
  std::size_t prefetched = 0;  // pages
  std::size_t used = 0;        // of these, those that were touched before they went
};
[[nodiscard]] cache_counts simulate(const page_trace& touches, const cache_options& options);

// Hits of who knows the future. cost: the touches times the logarithm of the frames.
[[nodiscard]] std::size_t hits_of_belady(const page_trace& touches, std::uint32_t frames);

}  // namespace situ::studies::rmem
