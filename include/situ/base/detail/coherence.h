// Explicit cache coherence: the calls by which a place makes its writes visible to other places if the hardware does
// not keep their caches coherent.
//
// On one host the hardware does: every function here is empty and compiles to nothing. On a machine whose tiles have
// caches that are not coherent with each other (SITU_MODEL: the modelled machines), the sender of bytes writes them
// back, and the receiver invalidates its cached copies of them:
//
//   place p                                            place q
//   writes the bytes                                   learns of it: a message, a signal's value, a barrier
//   write_back(bytes), or write_back_all()             invalidate(bytes), or invalidate_all()
//   tells of it: a message, a signal, a barrier        reads the bytes
//
// Rules
//   1. The ranged forms cover the bytes that Situ itself hands over: a message, a put, a parcel's buffer, a graph, a
//      request of an agent. The _all forms cover every earlier write, as the ordering rules promise
//      (docs/design/ordering.md); a model may charge for them, or omit them if a program needs none.
//   2. Words of type std::atomic, or used by std::atomic_ref, need no such calls: each access to them goes to memory.
//      They share no cache line with plain data that another place writes (signal_word.h), since a write-back of the
//      whole line would overwrite that data. For the same reason two blocks of a segment share no line if places are
//      not coherent.
//   3. invalidate() discards writes of this place that were not written back: use it for bytes received from another
//      place. If this place may have written some of them, use flush(), which keeps these writes.
//   4. Homed pages (home_pages()) need none of these calls: only one tile's caches hold them.
//   5. Places of one tile, a place's threads and its agent see each other's caches.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(SITU_MODEL)
// Implemented by the modelled machine, for the calling core. Ranges need no alignment: every line that a range touches
// counts.
extern "C" {
// Writes dirty data of the range from the tile's caches to memory; the data may stay cached.
void situ_model_write_back(const void* at, std::size_t bytes) noexcept;
void situ_model_write_back_all() noexcept;
// Drops the range from the tile's caches. Lines that are wholly in the range lose dirty data. If a line is only partly
// in the range, its dirty data is written back first, since the rest of the line belongs to others.
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept;
// As situ_model_invalidate, but dirty data of every line is written back first.
void situ_model_flush(const void* at, std::size_t bytes) noexcept;
void situ_model_flush_all() noexcept;
// Homes pages at the tile of a place: from now on only that tile's caches hold them, and other tiles read and write
// them there, over the network. The calling core waits until all caches have written the pages' dirty lines back.
// pre: begin and bytes are multiples of 4 KiB. The pages stay homed until they are shared, or unmapped.
void situ_model_home_pages(const void* begin, std::size_t bytes, std::uint32_t place) noexcept;
// Makes pages user-managed again, as all pages are at first: each tile caches them.
void situ_model_share_pages(const void* begin, std::size_t bytes) noexcept;
}
#endif

namespace situ::detail {

#if defined(SITU_MODEL)
inline constexpr bool has_coherent_places = false;

inline void write_back(const void* at, std::size_t bytes) noexcept { situ_model_write_back(at, bytes); }
inline void write_back_all() noexcept { situ_model_write_back_all(); }
inline void invalidate(const void* at, std::size_t bytes) noexcept { situ_model_invalidate(at, bytes); }
inline void flush(const void* at, std::size_t bytes) noexcept { situ_model_flush(at, bytes); }
inline void invalidate_all() noexcept { situ_model_flush_all(); }
inline void home_pages(const void* at, std::size_t bytes, std::uint32_t place) noexcept {
  situ_model_home_pages(at, bytes, place);
}
inline void share_pages(const void* at, std::size_t bytes) noexcept { situ_model_share_pages(at, bytes); }
#else
// True if each place sees the writes of others at once.
inline constexpr bool has_coherent_places = true;

// Returns when this place's writes to the range are in memory. cost: nothing if places are coherent.
inline void write_back(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
// As write_back, for all writes of this place.
inline void write_back_all() noexcept {}
// Makes later reads of the range by this place return what memory holds. pre: this place has written none of it, or
// has written it back since. cost: as write_back's.
inline void invalidate(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
// write_back, then invalidate. cost: as write_back's.
inline void flush(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
// Invalidates everything that this place has cached, after writing its dirty data back.
inline void invalidate_all() noexcept {}
// Has only the caches of the place's tile hold these pages: every place then sees every write to them, without the
// calls above, but other tiles' accesses go over the network, one by one. pre: at and bytes are multiples of 4 KiB.
// cost: nothing if places are coherent; else the write-back of the pages' dirty lines.
inline void home_pages(const void* /*at*/, std::size_t /*bytes*/, std::uint32_t /*place*/) noexcept {}
// Lets each tile cache these pages again, as it may all pages at first. pre and cost: as home_pages'.
inline void share_pages(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
#endif

}  // namespace situ::detail
