// An intent: the purpose of an allocation, which is the name of an ordering of memories.
//
// Williams, Ionkov and Lang (NUMA distance for heterogeneous memory, MCHPC 2017, sections 3.1 and 5): a program says
// what it needs, not which node it wants. The names that every machine has are below; a program may have names of its
// own, which an administrator orders (`situ order set checkpoint ...`). As long as no ordering is written for a name,
// memories are sorted by the criterion of the standard intent that the name is declared to be like:
//
//   constexpr situ::intent checkpoint{"checkpoint", situ::intent::capacity};
#pragma once

#include <situ/base/error_code.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace situ {

// A name, and the criterion that decides if no ordering is written for that name. A value of 48 bytes; constexpr. cost:
// constructed, copied and compared as the text it is; nothing is looked up.
class intent {
 public:
  static constexpr std::size_t max_name = 31;  // characters

  // The property by which memories are sorted; pim also selects: memories that compute, which no other one lists.
  enum class criterion : std::uint8_t { normal, latency, write_latency, bandwidth, write_bandwidth, capacity, pim };

  // A name of the program's own: small letters, digits, - and _, the first one a letter. Throws bad_argument for any
  // other name; in a constant expression that is a compile error.
  explicit constexpr intent(std::string_view name) : intent{name, criterion::normal} {}
  constexpr intent(std::string_view name, const intent& like) : intent{name, like.criterion_} {}

  // Returns the standard intent of that name, if there is one, else intent{name}. For names read from text.
  static constexpr intent of(std::string_view name);

  static const intent normal;           // DRAM first; small fast memories are left to programs that ask for them
  static const intent latency;          // loads that depend on each other
  static const intent write_latency;    // stores whose completion is waited for
  static const intent bandwidth;        // streams, read more than written
  static const intent write_bandwidth;  // streams, written more than read
  static const intent capacity;         // large data that is used rarely
  static const intent pim;  // data that is computed on where it lies; not in intents_everywhere: few machines can

  // Returns the name as it is written: "bandwidth". The view is valid as long as the intent.
  [[nodiscard]] constexpr std::string_view name() const noexcept { return {name_, length_}; }
  [[nodiscard]] constexpr criterion decided_by() const noexcept { return criterion_; }
  // Returns a hash of the name for look-ups (64 bits, FNV-1a); neither it nor its complement is 0.
  [[nodiscard]] constexpr std::uint64_t key() const noexcept { return key_; }

  // Intents are equal if their names are.
  friend constexpr bool operator==(const intent& a, const intent& b) noexcept {
    if (!std::is_constant_evaluated()) return __builtin_memcmp(a.name_, b.name_, sizeof a.name_) == 0;
    return a.name() == b.name();
  }

 private:
  constexpr intent(std::string_view name, criterion what)
      : key_{key_of(name)}, length_{static_cast<std::uint8_t>(name.size())}, criterion_{what} {
    if (!is_name(name))
      throw_error(errc::bad_argument,
                  "an intent's name is 1 to 31 small letters, digits, - and _, the first one a letter: \"checkpoint\"");
    for (std::size_t i = 0; i < name.size(); ++i) name_[i] = name[i];
  }
  static constexpr bool is_name(std::string_view name) noexcept {
    if (name.empty() || name.size() > max_name || name[0] < 'a' || name[0] > 'z') return false;
    for (const char c : name)
      if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')) return false;
    return true;
  }

  static constexpr std::uint64_t key_of(std::string_view name) noexcept {
    std::uint64_t key = 0xcbf29ce484222326;  // a basis by which the standard names do not collide (memory/segment.h)
    for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return (key | 1u << 15) & ~std::uint64_t{1u << 16};
  }

  std::uint64_t key_;
  char name_[max_name + 1] = {};  // padded with zeros
  std::uint8_t length_;
  criterion criterion_;
};

inline constexpr intent intent::normal{"normal", criterion::normal};
inline constexpr intent intent::latency{"latency", criterion::latency};
inline constexpr intent intent::write_latency{"write_latency", criterion::write_latency};
inline constexpr intent intent::bandwidth{"bandwidth", criterion::bandwidth};
inline constexpr intent intent::write_bandwidth{"write_bandwidth", criterion::write_bandwidth};
inline constexpr intent intent::capacity{"capacity", criterion::capacity};
inline constexpr intent intent::pim{"pim", criterion::pim};

// The intents that every machine has, in the order in which they are shown.
inline constexpr intent intents_everywhere[] = {intent::normal,    intent::latency,         intent::write_latency,
                                                intent::bandwidth, intent::write_bandwidth, intent::capacity};

constexpr intent intent::of(std::string_view name) {
  for (const intent& each : intents_everywhere)
    if (each.name() == name) return each;
  if (name == intent::pim.name()) return intent::pim;
  return intent{name};
}

}  // namespace situ
