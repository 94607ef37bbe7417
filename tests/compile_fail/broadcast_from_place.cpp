// A root is an index within the team, which is a place's number only in the world.
// expect: cannot convert 'from' \(type 'situ::place'\) to type 'uint32_t'
#include <situ/runtime/collective.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
int share(int value, situ::place from, const situ::team& team) {
  return situ::broadcast(value, team.index_of(from).value(), team);
}
#else
int share(int value, situ::place from, const situ::team& team) { return situ::broadcast(value, from, team); }
#endif
