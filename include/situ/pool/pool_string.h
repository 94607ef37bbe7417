// Zero-terminated text in a pool.
//
//   struct person { situ::pool_string name; };
//   pool.transact([&](situ::transaction& t) { someone->name.assign(t, "Ada"); });
//   if (someone->name == "Ada") ...
//
// A string has three words, and owns a block of the pool unless it is empty. Changes to it take a transaction, and are
// rolled back with it. It converts to a std::string_view, and compares as one. Not copyable: `assign` copies. Release a
// string before its object is destroyed, else its block stays until the pool is collected. As thread-safe as the pool's
// other objects. Errors: as transaction's. cost: linear in the text, and a snapshot.
#pragma once

#include <situ/graph/containers.h>
#include <situ/pool/detail/pool_parts.h>

#include <compare>
#include <cstddef>
#include <string_view>

namespace situ {

// Zero-terminated text in a pool. cost: three words.
class pool_string {
 public:
  pool_string() noexcept = default;
  pool_string(const pool_string&) = delete;
  pool_string& operator=(const pool_string&) = delete;

  // Return the number of characters, without the terminating zero, and whether it is 0.
  [[nodiscard]] std::size_t size() const noexcept { return raw_.count; }
  [[nodiscard]] bool empty() const noexcept { return raw_.count == 0; }
  // Returns the characters with a terminating zero; never null.
  [[nodiscard]] const char* c_str() const noexcept {
    return raw_.count == 0 ? "" : reinterpret_cast<const char*>(raw_.data);
  }
  // Returns the characters; the view is valid until the string changes.
  [[nodiscard]] std::string_view view() const noexcept { return {c_str(), raw_.count}; }
  [[nodiscard]] operator std::string_view() const noexcept { return view(); }
  [[nodiscard]] char operator[](std::size_t i) const noexcept { return c_str()[i]; }

  // Replaces the text; `text` may be part of this string.
  void assign(transaction& t, std::string_view text);
  // Adds text at the end; `text` may be part of this string. cost: amortised linear in the text.
  void append(transaction& t, std::string_view text);
  // Removes all characters; the capacity stays. cost: constant.
  void clear(transaction& t);
  // Removes all characters, and frees the block. cost: constant.
  void release(transaction& t);

  friend bool operator==(const pool_string& a, const pool_string& b) noexcept { return a.view() == b.view(); }
  friend auto operator<=>(const pool_string& a, const pool_string& b) noexcept { return a.view() <=> b.view(); }
  friend bool operator==(const pool_string& a, std::string_view b) noexcept { return a.view() == b; }
  friend auto operator<=>(const pool_string& a, std::string_view b) noexcept { return a.view() <=> b; }

 private:
  void move_to_room_for(transaction& t, std::size_t characters, std::string_view kept, std::string_view added);

  detail::array_descriptor raw_;
};

namespace detail {

template <>
struct container_element<pool_string> {
  using type = char;
};
template <>
inline constexpr bool is_pool_container<pool_string> = true;
template <>
inline constexpr bool is_terminated<pool_string> = true;

}  // namespace detail

}  // namespace situ
