// The third member of a team need not be place 3.
// expect: cannot convert '3' \(type 'unsigned int'\) to type 'situ::place'
#include <situ/runtime/at.h>
#include <situ/runtime/team.h>

int ask([[maybe_unused]] const situ::team& team) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  return situ::at(team.member(3), [] { return 1; });
#else
  return situ::at(3u, [] { return 1; });
#endif
}
