#include "pool/openers.h"

#include <fcntl.h>

#include <cerrno>

#include "os/host.h"

namespace situ::detail {
namespace {

constexpr std::int64_t first_byte = std::int64_t{1} << 62;
constexpr std::int64_t gate_byte = first_byte;
constexpr std::int64_t area_byte = first_byte + 1;
constexpr std::int64_t writers_byte = first_byte + 2;
constexpr std::int64_t still_byte = first_byte + 3;
constexpr std::int64_t slot_bytes = first_byte + 16;

struct flock range_of(std::int64_t byte, short kind) noexcept {
  struct flock range{};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return range;
}

// Call it after a lock was refused: true if another process has it, false if the kernel has failed.
bool is_had_by_others() noexcept { return errno == EAGAIN || errno == EACCES; }
pool_openers::refusal unless_not_told(pool_openers::refusal why) noexcept {
  return is_had_by_others() ? why : pool_openers::refusal::not_told;
}

}  // namespace

bool pool_openers::take(std::int64_t byte, short kind) const noexcept {
  struct flock range = range_of(byte, kind);
  int result = 0;
  do {
    result = ::fcntl(descriptor_, F_OFD_SETLK, &range);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

// Returns whether another opener has the lock, shared or alone; also true if the kernel does not say.
bool pool_openers::is_taken(std::int64_t byte) const noexcept {
  struct flock range = range_of(byte, F_WRLCK);
  return ::fcntl(descriptor_, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

bool pool_openers::pass_gate(std::uint64_t patience_ns) const noexcept {
  constexpr std::int64_t rest_ns = 200'000;
  const std::uint64_t begun = steady_ns();
  // A process without write permission cannot have an exclusive lock; its shared lock keeps out writers.
  while (!take(gate_byte, is_writable_ ? F_WRLCK : F_RDLCK)) {
    if (!is_had_by_others()) return false;
    if (steady_ns() - begun > patience_ns) {
      errno = EAGAIN;
      return false;
    }
    rest(rest_ns);
  }
  return true;
}
void pool_openers::leave_gate() const noexcept { (void)take(gate_byte, F_UNLCK); }

pool_openers::refusal pool_openers::enter_alone() const noexcept {
  if (!take(area_byte, F_WRLCK)) return unless_not_told(refusal::is_open);
  if (take(writers_byte, F_WRLCK) && take(still_byte, F_WRLCK)) return refusal::none;
  const int reason = errno;
  for (const std::int64_t byte : {area_byte, writers_byte, still_byte}) (void)take(byte, F_UNLCK);
  errno = reason;
  return unless_not_told(refusal::is_still);
}

pool_openers::refusal pool_openers::enter(pool_company as) noexcept {
  if (as == pool_company::alone) return enter_alone();
  if (as == pool_company::still) {
    if (!take(still_byte, F_RDLCK)) return unless_not_told(refusal::is_alone);
    if (!is_taken(writers_byte)) return refusal::none;
    (void)take(still_byte, F_UNLCK);
    return refusal::is_written;
  }
  (void)take(still_byte, F_UNLCK);  // an opener that had the pool alone has this lock as well
  is_first_ = take(area_byte, F_WRLCK);
  if (!is_first_ && !is_had_by_others()) return refusal::not_told;
  if (!take(area_byte, F_RDLCK)) return unless_not_told(refusal::is_alone);
  if (as == pool_company::reading) return refusal::none;
  if (!is_taken(still_byte) && take(writers_byte, F_RDLCK)) return refusal::none;
  (void)take(area_byte, F_UNLCK);
  return refusal::is_still;
}

bool pool_openers::is_last() const noexcept { return take(area_byte, F_WRLCK); }
void pool_openers::leave_area() const noexcept { (void)take(area_byte, F_UNLCK); }

bool pool_openers::take_slot(std::uint32_t number) const noexcept { return take(slot_bytes + number, F_WRLCK); }
bool pool_openers::has_slot(std::uint32_t number) const noexcept { return is_taken(slot_bytes + number); }

}  // namespace situ::detail
