// Layouts: which words of an object of an object heap are references. A C++ type has one by itself (layout_of); a
// language at run time adds its own (object_heap::add_layout).
#pragma once

#include <situ/heap/ref.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace situ {

// Which words of an object hold references. Every word that holds one has an even number or null there; odd numbers are
// skipped. cost: a collection looks at each such word.
struct heap_layout {
  // The rule by which a collection finds the words.
  enum class kind : std::uint8_t {
    none,    // no word: bytes
    all,     // every word
    listed,  // the words whose numbers are in `words`, ascending
    first,   // as many from the first one on as `count` returns
  };

  std::string name;  // for messages
  kind references = kind::none;
  std::vector<std::uint32_t> words;
  // Returns how many words at the beginning are references. It is called in collections, when other objects may be
  // half copied: it reads this object alone, and does not throw.
  std::uint32_t (*count)(const std::uint32_t* body, std::uint32_t words) noexcept = nullptr;
  // Objects of this layout never become read-mostly with all others (an interpreter's contexts).
  bool never_read_mostly = false;
};

namespace detail {

template <class T>
inline constexpr bool is_heap_ref = false;
template <class T>
inline constexpr bool is_heap_ref<ref<T>> = true;
// True if a field holds data alone: a number, a class that says so (is_data), or an array of these.
template <class T>
inline constexpr bool is_heap_data = std::is_arithmetic_v<T> || std::is_enum_v<T> || (is_data<T> && !is_heap_ref<T>);
template <class T, std::size_t N>
inline constexpr bool is_heap_data<std::array<T, N>> = is_heap_data<T>;
template <class T, std::size_t N>
inline constexpr bool is_heap_data<T[N]> = is_heap_data<T>;

}  // namespace detail
}  // namespace situ
