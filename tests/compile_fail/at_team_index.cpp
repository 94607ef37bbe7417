// The third member of a team need not be place 3.
// expect: at\(\) goes to a situ::place: say situ::place{i}, or, for a member of a team, team.member\(i\)
#include <situ/runtime/at.h>
#include <situ/runtime/team.h>

int ask([[maybe_unused]] const situ::team& team) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(team.member(3), [] { return 1; });
#else
  return situ::at(3u, [] { return 1; });
#endif
}
