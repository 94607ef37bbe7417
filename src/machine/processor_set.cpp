#include <situ/base/error_code.h>
#include <situ/machine/processor_set.h>

#include <fmt/format.h>
#include <sched.h>

#include <bit>
#include <cerrno>
#include <charconv>

namespace situ::machine {
namespace {
constexpr std::uint32_t word_bits = 64;

std::uint32_t parse_index(std::string_view text, std::string_view whole) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value >= processor_set::max_index)
    throw_error(errc::bad_argument, fmt::format("\"{}\" is no set of processors; write it like \"0-3,8\"", whole));
  return value;
}
}  // namespace

processor_set processor_set::parse(std::string_view text) {
  processor_set result;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto dash = item.find('-');
    const std::uint32_t from = parse_index(item.substr(0, dash), text);
    const std::uint32_t to = dash == std::string_view::npos ? from : parse_index(item.substr(dash + 1), text);
    if (to < from || (comma != std::string_view::npos && comma + 1 == rest.size())) parse_index("", text);
    for (std::uint32_t i = from; i <= to; ++i) result.insert(i);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return result;
}

processor_set processor_set::of_this_thread() {
  // The kernel refuses a mask smaller than its own; machines with more processors than cpu_set_t holds exist.
  for (std::uint32_t count = CPU_SETSIZE; count <= max_index; count *= 2) {
    std::vector<unsigned long> mask(count / (8 * sizeof(unsigned long)));
    auto* const set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (sched_getaffinity(0, mask.size() * sizeof(unsigned long), set) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    processor_set result;
    for (std::uint32_t i = 0; i < count; ++i)
      if ((mask[i / (8 * sizeof(unsigned long))] >> (i % (8 * sizeof(unsigned long))) & 1) != 0) result.insert(i);
    return result;
  }
  throw_error(errc::not_supported, "the kernel does not tell this thread's processors (sched_getaffinity)");
}

void processor_set::insert(std::uint32_t index) {
  if (index >= max_index)
    throw_error(errc::bad_argument, fmt::format("processor {} is beyond {}", index, max_index - 1));
  if (index / word_bits >= words_.size()) words_.resize(index / word_bits + 1);
  words_[index / word_bits] |= std::uint64_t{1} << (index % word_bits);
}

bool processor_set::contains(std::uint32_t index) const noexcept {
  return index / word_bits < words_.size() && (words_[index / word_bits] >> (index % word_bits) & 1) != 0;
}

std::size_t processor_set::size() const noexcept {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::uint32_t processor_set::first(std::uint32_t from) const noexcept {
  for (std::size_t i = from / word_bits; i < words_.size(); ++i) {
    const std::uint64_t word =
        i == from / word_bits ? words_[i] & (~std::uint64_t{0} << (from % word_bits)) : words_[i];
    if (word != 0)
      return static_cast<std::uint32_t>(i * word_bits) + static_cast<std::uint32_t>(std::countr_zero(word));
  }
  return npos;
}

std::vector<std::uint32_t> processor_set::members() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = first(); i != npos; i = first(i + 1)) result.push_back(i);
  return result;
}

bool processor_set::includes(const processor_set& other) const noexcept {
  if (other.words_.size() > words_.size()) return false;
  for (std::size_t i = 0; i < other.words_.size(); ++i)
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  return true;
}

bool processor_set::intersects(const processor_set& other) const noexcept {
  for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i)
    if ((words_[i] & other.words_[i]) != 0) return true;
  return false;
}

processor_set& processor_set::operator|=(const processor_set& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

processor_set& processor_set::operator&=(const processor_set& other) {
  if (words_.size() > other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
  shrink();
  return *this;
}

void processor_set::shrink() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

std::string processor_set::to_string() const {
  std::string text;
  for (std::uint32_t from = first(); from != npos;) {
    std::uint32_t to = from;
    while (contains(to + 1)) ++to;
    text += fmt::format("{}{}", text.empty() ? "" : ",", from);
    if (to > from) text += fmt::format("-{}", to);
    from = first(to + 1);
  }
  return text;
}

}  // namespace situ::machine
