// Ranges of addresses of one process that get pages when they are opened: for memory that grows in place, or whose
// pages are moved instead of copied. For memory with pages from the start see `pages` (os/pages.h); for pages shared
// by processes, page_file (pages/page_file.h). Thread-safe as the system calls are; no two threads may change a range
// at once.
#pragma once

#include <cstddef>

namespace situ::detail {

// Reserves a range without access, which no limit on memory counts; returns null if there are not so many addresses.
[[nodiscard]] std::byte* reserve_addresses(std::size_t bytes) noexcept;
void release_addresses(std::byte* from, std::size_t bytes) noexcept;
// Makes whole pages readable and writable; they are zero at first. Returns false if memory is limited.
[[nodiscard]] bool open_addresses(std::byte* from, std::size_t bytes) noexcept;
// Moves pages of an open part to an open part of the same size, without a copy if the system can. The source addresses
// are unmapped afterwards.
void move_pages(std::byte* to, std::byte* from, std::size_t bytes) noexcept;

}  // namespace situ::detail
