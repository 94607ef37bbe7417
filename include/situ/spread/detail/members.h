// What the members of a team who have made something together must know of each other: who of them has ended, and when
// all are done with it.
#pragma once

#include <situ/runtime/team.h>

#include <cstdint>
#include <string_view>

namespace situ::detail {

// Throws place_lost_error where this place has ended. cost: a load where no place has.
void check_not_ended(std::uint32_t place);
// The same of all members.
void check_not_ended(const team& members);
// Throws bad_argument where the place is no member.
void check_member(const team& members, place at);
// The same team. Throws not_supported where its members are of several hosts, so that not all of them reach `what` in
// memory; instead: what to do then.
[[nodiscard]] const team& check_one_host(const team& members, std::string_view what, std::string_view instead);
// Throws place_lost_error of the first lost place. pre: one was lost.
[[noreturn]] void throw_loss_here();

// The end of what the members of a team have made together: nobody touches another's part once all have come.
class joint_end {
 public:
  explicit joint_end(const team& members);
  // Waits for the others; whether all have come. Not where an exception ends the scope, nor after a loss: then memory
  // that others may touch stays until the job ends. What went wrong is thrown by the running finish scope.
  [[nodiscard]] bool come() noexcept;
  [[nodiscard]] const team& members() const noexcept { return members_; }

 private:
  team members_;
  int exceptions_before_;
};

}  // namespace situ::detail
