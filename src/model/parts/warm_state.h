// A file with the contents of a machine's caches, TLBs and predictors, which a later run begins with
// (`situ model run --save`, `--warm`).
//
//   8 bytes   "situwarm"
//   words     version | hash of the machine | number of words that follow | words ... | checksum
//
// Words have 8 bytes, in the order of the host. The hash is that of what the contents depend on: sizes and replacement
// of caches, TLBs, prefetchers, which cores use them; not latencies, which may differ between the runs. The checksum is
// FNV-1a over all words before it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace situ::model {

// Mixes words to a number, by FNV-1a.
class word_hash {
 public:
  void add(std::uint64_t word) noexcept { hash_ = (hash_ ^ word) * 1099511628211ULL; }
  [[nodiscard]] std::uint64_t value() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

// The words of a state, in the order in which the parts of a machine write and read them.
using state_words = std::vector<std::uint64_t>;

// Reads words, part after part. Throws bad_file if there are too few, or a number of words is not the expected one.
class state_reader {
 public:
  explicit state_reader(std::span<const std::uint64_t> words) : words_{words} {}
  [[nodiscard]] std::uint64_t next();
  // Returns the next `count` words.
  [[nodiscard]] std::span<const std::uint64_t> next(std::size_t count);
  [[nodiscard]] bool is_at_end() const noexcept { return words_.empty(); }

 private:
  std::span<const std::uint64_t> words_;
};

[[nodiscard]] std::string encode_state(std::uint64_t machine_hash, std::span<const std::uint64_t> words);
// Returns the words of a file's content. Throws bad_file, with the file's name, if it is no such file, was cut off or
// changed, has another version, or is of another machine.
[[nodiscard]] state_words decode_state(std::string_view content, std::uint64_t machine_hash,
                                       const std::string& file_name);

}  // namespace situ::model
