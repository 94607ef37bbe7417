#include "model/parts/warm_state.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <cstring>

namespace situ::model {
namespace {

constexpr std::string_view magic = "situwarm";
constexpr std::uint64_t version = 1;
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t words_before = 3;  // version, hash, number
constexpr std::size_t least_bytes = magic.size() + (words_before + 1) * word_bytes;

void append(std::string& to, std::uint64_t word) {
  char bytes[word_bytes];
  std::memcpy(bytes, &word, word_bytes);
  to.append(bytes, word_bytes);
}

std::uint64_t word_at(std::string_view content, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, content.data() + magic.size() + index * word_bytes, word_bytes);
  return word;
}

[[noreturn]] void fail(const std::string& file_name, const std::string& why) {
  throw_error(errc::bad_file, fmt::format("{}: {}", file_name, why));
}

}  // namespace

std::uint64_t state_reader::next() { return next(1).front(); }

std::span<const std::uint64_t> state_reader::next(std::size_t count) {
  if (count > words_.size()) throw_error(errc::bad_file, "the saved state ends before the machine's parts do");
  const std::span<const std::uint64_t> made = words_.first(count);
  words_ = words_.subspan(count);
  return made;
}

std::string encode_state(std::uint64_t machine_hash, std::span<const std::uint64_t> words) {
  std::string made{magic};
  made.reserve(least_bytes + words.size() * word_bytes);
  word_hash checksum;
  const auto add = [&](std::uint64_t word) {
    checksum.add(word);
    append(made, word);
  };
  for (const std::uint64_t each : {version, machine_hash, std::uint64_t{words.size()}}) add(each);
  for (const std::uint64_t each : words) add(each);
  append(made, checksum.value());
  return made;
}

state_words decode_state(std::string_view content, std::uint64_t machine_hash, const std::string& file_name) {
  if (!content.starts_with(magic)) fail(file_name, "is no saved state of a machine (situ model run --save)");
  if (content.size() < least_bytes) fail(file_name, fmt::format("was cut off after {} bytes", content.size()));
  if (word_at(content, 0) != version)
    fail(file_name,
         fmt::format("has version {} of saved states; this program reads version {}", word_at(content, 0), version));
  const std::uint64_t count = word_at(content, 2);
  const std::size_t there = (content.size() - least_bytes) / word_bytes;
  if (count != there || (content.size() - least_bytes) % word_bytes != 0)
    fail(file_name,
         fmt::format("was cut off, or has more behind its end: {} bytes for {} words", content.size(), count));
  word_hash checksum;
  for (std::size_t i = 0; i < words_before + count; ++i) checksum.add(word_at(content, i));
  if (word_at(content, words_before + count) != checksum.value()) fail(file_name, "was changed: its checksum differs");
  if (word_at(content, 1) != machine_hash)
    fail(file_name,
         "is the state of another machine: caches, TLBs, prefetchers, their replacement and the cores that use them "
         "must be the same");
  state_words made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = word_at(content, words_before + i);
  return made;
}

}  // namespace situ::model
