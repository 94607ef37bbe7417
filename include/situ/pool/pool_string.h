// Text in a pool, zero-terminated.
//
//   struct person { situ::pool_string name; };
//   pool.transact([&](situ::transaction& t) { someone->name.assign(t, "Ada"); });
//   if (someone->name == "Ada") ...
//
// Three words, and a block of the pool that it owns; an empty one has none. What changes it takes a transaction, and is
// taken back with it. Is compared as a std::string_view is, and becomes one. Not copyable: `assign` copies. Whoever
// destroys an object that holds one releases it first, else the block stays until the pool is collected. As
// thread-safe as the pool's other objects. Errors: as transaction's. cost: linear in the text, and a snapshot.
#pragma once

#include <situ/graph/containers.h>
#include <situ/pool/detail/pool_parts.h>

#include <compare>
#include <cstddef>
#include <string_view>

namespace situ {

// Text in a pool, zero-terminated. cost: three words.
class pool_string {
 public:
  pool_string() noexcept = default;
  pool_string(const pool_string&) = delete;
  pool_string& operator=(const pool_string&) = delete;

  // Characters, without the zero behind them.
  [[nodiscard]] std::size_t size() const noexcept { return raw_.count; }
  [[nodiscard]] bool empty() const noexcept { return raw_.count == 0; }
  // The characters with a zero behind them; never null.
  [[nodiscard]] const char* c_str() const noexcept {
    return raw_.count == 0 ? "" : reinterpret_cast<const char*>(raw_.data);
  }
  // The characters; good until the string changes.
  [[nodiscard]] std::string_view view() const noexcept { return {c_str(), raw_.count}; }
  [[nodiscard]] operator std::string_view() const noexcept { return view(); }
  [[nodiscard]] char operator[](std::size_t i) const noexcept { return c_str()[i]; }

  // Becomes this text, which may be part of it.
  void assign(transaction& t, std::string_view text);
  // Adds text at the end, which may be part of it. cost: amortised linear in the text.
  void append(transaction& t, std::string_view text);
  // Removes all characters; the room stays. cost: constant.
  void clear(transaction& t);
  // The same, and gives the room back. cost: constant.
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
