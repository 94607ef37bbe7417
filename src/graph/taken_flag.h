// A flag in the sender's segment by which the receiver of a pull, or of a result that a unit sends, tells that it needs
// the originals no longer. The end that changes the flag second frees it; if the receiver was lost, the sender does.
#pragma once

#include <situ/base/detail/signal_word.h>
#include <situ/base/detail/test_points.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>

#include <atomic>
#include <cstdint>

#include "graph/change_gate.h"

namespace situ::detail {

enum class need : std::uint32_t { wanted, taken, given_up };
using taken_flag = signal_word<need>;
static_assert(sizeof(taken_flag) == signal_line_bytes);

// Frees the flag. An error, which only a damaged heap causes, is logged.
void give_back(taken_flag* flag) noexcept;

// The sender's end of a flag.
class flag_lease {
 public:
  flag_lease() noexcept = default;
  flag_lease(const flag_lease&) = delete;
  flag_lease& operator=(const flag_lease&) = delete;
  void make(std::uint32_t reader) {
    flag_ = new (allocate<taken_flag>().local()) taken_flag{need::wanted};
    reader_ = reader;
  }
  ~flag_lease() {
    if (flag_ == nullptr) return;
    const bool is_second = flag_->exchange(need::given_up) == need::taken;
    if (is_second || has_ended(current->job->slot(reader_).state.load(std::memory_order_acquire))) give_back(flag_);
  }
  [[nodiscard]] taken_flag* get() const noexcept { return flag_; }
  [[nodiscard]] std::uint32_t reader() const noexcept { return reader_; }

 private:
  taken_flag* flag_ = nullptr;
  std::uint32_t reader_ = 0;
};

// The receiver's end of a flag: its destructor tells the sender that the originals are not needed any more, after a
// success or a failure.
struct flag_to_set {
  taken_flag* flag;
  std::uint32_t sender;
  flag_to_set(std::uint64_t address, std::uint32_t source)
      : flag{reinterpret_cast<taken_flag*>(address)}, sender{source} {
    if (address != 0) check_access(access::atomic, address, sizeof(taken_flag));
  }
  flag_to_set(const flag_to_set&) = delete;
  flag_to_set& operator=(const flag_to_set&) = delete;
  ~flag_to_set() {
    if (flag == nullptr) return;
    const need before = flag->exchange(need::taken);
    SITU_POINT(flag_set);
    if (before == need::given_up) {
      give_back(flag);
    } else {
      wake_after_change(current->job->slot(sender), flag);
    }
  }
};

}  // namespace situ::detail
