// Containers in pools: the code that is not in templates.
#include <situ/base/error_code.h>
#include <situ/pool/pool_map.h>
#include <situ/pool/pool_string.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace situ {
namespace detail {

std::size_t pool_bytes_for(std::size_t count, std::size_t bytes) {
  if (count > SIZE_MAX / 4 / bytes)
    throw_error(errc::bad_argument, fmt::format("{} elements of {} bytes are more than a pool has", count, bytes));
  return count * bytes;
}

void throw_pool_keys_alike(std::size_t keys) {
  throw_error(errc::bad_argument,
              fmt::format("a pool_map has {} keys that hash alike, and one more is to come; give it "
                          "a Hash that tells them apart",
                          keys));
}

// Hashes like wyhash: 16 bytes a step, the rest in two loads that may overlap.
std::uint64_t hash_pool_bytes(const void* at, std::size_t bytes) noexcept {
  constexpr std::uint64_t factors[] = {0xa0761d6478bd642f, 0xe7037ed1a0b428db};
  const auto load = [](const std::byte* from, std::size_t n) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, n);
    return word;
  };
  const auto* from = static_cast<const std::byte*>(at);
  std::uint64_t sum = bytes * factors[0];
  std::size_t left = bytes;
  for (; left > 16; left -= 16, from += 16)
    sum = fold_product(load(from, 8) ^ factors[0], load(from + 8, 8) ^ factors[1] ^ sum);
  std::uint64_t a = 0, b = 0;
  if (left >= 8) {
    a = load(from, 8);
    b = load(from + left - 8, 8);
  } else if (left != 0) {
    a = load(from, left);
  }
  return fold_product(a ^ factors[0], b ^ factors[1] ^ sum);
}

}  // namespace detail

void pool_string::move_to_room_for(transaction& t, std::size_t characters, std::string_view kept,
                                   std::string_view added) {
  detail::array_descriptor next;
  next.capacity = detail::pool_bytes_for(characters + 1, 1);
  next.data = static_cast<std::byte*>(t.allocate(next.capacity, 1));
  auto* const text = reinterpret_cast<char*>(next.data);
  kept.copy(text, kept.size());
  added.copy(text + kept.size(), added.size());
  next.count = kept.size() + added.size();
  std::memset(text + next.count, 0, next.capacity - next.count);
  std::byte* const old = raw_.data;  // its characters stay until the transaction is complete
  t.change(&raw_) = next;
  t.destroy(old);
}

void pool_string::assign(transaction& t, std::string_view text) {
  if (text.empty()) return clear(t);
  if (text.size() >= raw_.capacity_bytes()) return move_to_room_for(t, text.size(), {}, text);
  t.snapshot(raw_.data, std::max(text.size(), size()) + 1);
  std::memmove(raw_.data, text.data(), text.size());
  raw_.data[text.size()] = std::byte{0};
  t.set(raw_.count, text.size());
}

void pool_string::append(transaction& t, std::string_view text) {
  if (text.empty()) return;
  const std::size_t both = size() + text.size();
  if (both >= raw_.capacity_bytes()) return move_to_room_for(t, std::max(both, 2 * size()), view(), text);
  t.snapshot(raw_.data + size(), text.size() + 1);
  std::memmove(raw_.data + size(), text.data(), text.size());
  raw_.data[both] = std::byte{0};
  t.set(raw_.count, both);
}

void pool_string::clear(transaction& t) {
  if (raw_.count != 0) t.set(raw_.count, 0U);
}

void pool_string::release(transaction& t) {
  if (raw_.data == nullptr) return;
  std::byte* const old = raw_.data;
  t.change(&raw_) = {};
  t.destroy(old);
}

}  // namespace situ
