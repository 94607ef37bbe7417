// The one chance to answer ends with the handler.
// expect: use of deleted function 'situ::am::token::token\(const situ::am::token&\)'
#include <situ/fabric/am.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
void on_question(situ::am::token& t) {
  situ::am::token& same = t;
  static_cast<void>(same);
}
#else
void on_question(situ::am::token& t) {
  situ::am::token kept = t;
  static_cast<void>(kept);
}
#endif
