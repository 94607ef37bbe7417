// What the modelled build of Situ's own library asks of the executor. It is called from instrumented code; the names
// are C's, because the executor is linked as one sealed object that keeps only such names.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

extern "C" {

// Sleeps while *word is `expected`, no longer than the time; negative: for ever. 0 where it was woken, else an error
// number.
int situ_model_wait(const void* word, std::uint32_t expected, std::int64_t timeout_ns) noexcept;
int situ_model_wake(const void* word, int count) noexcept;
[[nodiscard]] std::uint64_t situ_model_now_ns() noexcept;
// Of the running core's clock.
[[nodiscard]] std::uint64_t situ_model_now_cycles() noexcept;
// Says where a place's slice lies: [begin, end), its heap from `heap` on.
void situ_model_map_slice(std::uint32_t place, const void* begin, const void* heap, const void* end) noexcept;
// The calling thread is this place's from here on: it goes to a core of the place's tile.
void situ_model_settle(std::uint32_t place) noexcept;
[[nodiscard]] std::uint32_t situ_model_core_count() noexcept;

// The seams of the fabric; fabric/detail/carry.h and base/detail/coherence.h say what they do.
void situ_model_carry(std::atomic<std::uint64_t>* header, std::uint64_t value, std::uint32_t target,
                      std::atomic<std::uint32_t>* sleeping) noexcept;
void situ_model_dma(void* to, const void* from, std::size_t bytes) noexcept;
void situ_model_write_back(const void* at, std::size_t bytes) noexcept;
void situ_model_write_back_all() noexcept;
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept;
void situ_model_invalidate_all() noexcept;

// situ/model/region.h
void situ_model_region_begin(const char* name) noexcept;
void situ_model_region_end(const char* name) noexcept;

// What the program's Situ offers the executor, where it has one: makes a job of so many places, which the first
// situ::runtime joins with all its places as threads.
void situ_model_make_job(std::uint32_t places) __attribute__((weak));

}  // extern "C"
