// Coherence: what a place does so that others read what it wrote, where caches do not see to that themselves.
//
// On one host they do: every function here is empty, and nothing of it is left in what is compiled. On a machine whose
// tiles have caches that are not kept coherent with each other (SITU_MODEL: the modelled machines), who hands bytes
// over writes them back, and who takes them over drops what its caches hold of them:
//
//   place p                                            place q
//   writes the bytes                                   learns of it: a message, a signal's value, a barrier
//   write_back(bytes), or write_back_all()             invalidate(bytes), or invalidate_all()
//   tells of it: a message, a signal, a barrier        reads the bytes
//
// Rules
//   1. The ranged forms are for what Situ itself hands over, and suffice for that: a message, a put, a parcel's buffer,
//      a graph, a request of an agent. The others are for all else that the ordering rules promise of any write before
//      (docs/design/ordering.md); a model may price them, or leave them out where a program needs none.
//   2. Words of type std::atomic, or used by std::atomic_ref, need none of it: each access to them goes to memory. They
//      share no line with plain data that another place writes (signal_word.h), which whole lines that are written back
//      would overwrite. Nor do two blocks of a segment, where places are not coherent.
//   3. invalidate() loses what this place itself has written there and not written back: it is for bytes that it has
//      been handed. Where it may have written some of them, flush() keeps those.
//   4. Places of one tile, a place's threads and its agent see each other's caches.
// Thread-safe.
#pragma once

#include <cstddef>

#if defined(SITU_MODEL)
// Of the modelled machine, for the core that calls. The ranges may begin and end anywhere: lines that they touch count.
extern "C" {
// Puts what the tile's caches hold of the range, and memory does not, into memory; it may stay in the caches.
void situ_model_write_back(const void* at, std::size_t bytes) noexcept;
void situ_model_write_back_all() noexcept;
// Drops what the tile's caches hold of the range. Of lines that the range has in part, what memory does not hold is
// written back first: the other part is somebody else's. Whole lines are lost.
void situ_model_invalidate(const void* at, std::size_t bytes) noexcept;
// The same, where what memory does not hold is written back of all lines.
void situ_model_flush(const void* at, std::size_t bytes) noexcept;
void situ_model_flush_all() noexcept;
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
#else
// Whether each place sees at once what others have written.
inline constexpr bool has_coherent_places = true;

// What this place has written there is in memory when this returns. cost: nothing where places are coherent.
inline void write_back(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
// The same of everything that it has written.
inline void write_back_all() noexcept {}
// What this place reads there from now on is what memory holds. pre: it has written none of it, or written that back
// since. cost: as write_back's.
inline void invalidate(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
// write_back, then invalidate. cost: as write_back's.
inline void flush(const void* /*at*/, std::size_t /*bytes*/) noexcept {}
// Of everything that it has not written; what it has written is written back.
inline void invalidate_all() noexcept {}
#endif

}  // namespace situ::detail
