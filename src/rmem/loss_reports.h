// The sentences about lost clients and servers that a server writes into its log. A second has at most `most_a_second`
// of them, so that the end of a thousand clients neither fills the log nor holds up the others; the rest is counted, and
// the count is a sentence, too. Uses no clock. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace situ::rmem::detail {

class loss_reports {
 public:
  static constexpr std::size_t most_a_second = 10;

  // Adds the sentence that `compose` returns, if this second has room for one; then only, `compose` is called.
  template <class Compose>
  void add(std::uint64_t now_ns, Compose&& compose) {
    look(now_ns);
    if (said_ == most_a_second) {
      ++left_out_;
      return;
    }
    ++said_;
    sentences_.push_back("remote memory: " + std::forward<Compose>(compose)());
  }
  // Returns the sentences since the last call.
  [[nodiscard]] std::vector<std::string> take(std::uint64_t now_ns) {
    look(now_ns);
    return std::exchange(sentences_, {});
  }
  // Returns true if a later take() has the count of those that were left out.
  [[nodiscard]] bool has_left_out() const noexcept { return left_out_ > 0; }

 private:
  static constexpr std::uint64_t second_ns = 1'000'000'000;

  // Begins a new second if the last one is over.
  void look(std::uint64_t now_ns) {
    if (now_ns - begun_ns_ < second_ns) return;
    if (left_out_ > 0)
      sentences_.push_back("remote memory: " + std::to_string(left_out_) +
                           " more losses within a second are not listed");
    left_out_ = said_ = 0;
    begun_ns_ = now_ns;
  }

  std::vector<std::string> sentences_;
  std::uint64_t begun_ns_ = 0;
  std::size_t said_ = 0;  // sentences of this second
  std::size_t left_out_ = 0;
};

}  // namespace situ::rmem::detail
