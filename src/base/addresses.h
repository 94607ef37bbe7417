// Ranges of addresses of one process that get pages where they are opened: for what grows in place, or moves its pages
// instead of copying them. Pages that are there from the start are `pages` (base/pages.h); those that processes share
// are a page_file's (memory/page_file.h). Thread-safe: as the system calls are; no two may change one range at once.
#pragma once

#include <cstddef>

namespace situ::detail {

// A range that nothing may touch, and that no limit on memory counts; null where there are not so many addresses.
[[nodiscard]] std::byte* reserve_addresses(std::size_t bytes) noexcept;
void release_addresses(std::byte* from, std::size_t bytes) noexcept;
// Whole pages may be read and written from now on; zero until they are. False where memory is limited.
[[nodiscard]] bool open_addresses(std::byte* from, std::size_t bytes) noexcept;
// Pages of an open part go to an open part of the same size, as they are, without a copy where the system can. The
// addresses that they come from are free then.
void move_pages(std::byte* to, std::byte* from, std::size_t bytes) noexcept;

}  // namespace situ::detail
