// Checks of the places of a team that share an object, and the collective end of such an object: have places ended, and
// have all members stopped using the object.
#pragma once

#include <situ/runtime/team.h>

#include <cstdint>

namespace situ::detail {

// Throws place_lost_error if the place has ended. cost: a load if no place has.
void check_not_ended(std::uint32_t place);
// Throws place_lost_error if any member has ended.
void check_not_ended(const team& members);
// Throws bad_argument if the place is not a member.
void check_member(const team& members, place at);
// Throws place_lost_error for the first lost place. pre: a place was lost.
[[noreturn]] void throw_loss_here();

// The collective end of an object with a part at each member: after it, no member accesses another's part.
class joint_end {
 public:
  explicit joint_end(const team& members);
  // Waits for the other members; returns true if all have come. Returns false without waiting if an exception ends the
  // scope or after a loss: memory that others may access must then stay allocated until the job ends. Errors are
  // reported to the running finish scope.
  [[nodiscard]] bool come() noexcept;
  // Returns false if come() would not wait.
  [[nodiscard]] bool may_come() const noexcept;
  [[nodiscard]] const team& members() const noexcept { return members_; }

 private:
  team members_;
  int exceptions_before_;
};

}  // namespace situ::detail
