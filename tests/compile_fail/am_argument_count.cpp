// expect: the handler takes another number of arguments than the message carries
#include <situ/fabric/am.h>

void take(situ::am::token&, int, double) {}

void send(situ::place there) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::am::request_short<take>(there, 1, 2.5);
#else
  situ::am::request_short<take>(there, 1);
#endif
}
