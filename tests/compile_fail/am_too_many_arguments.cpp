// expect: an active message takes at most 16 arguments: send the rest as a medium payload
#include <situ/fabric/am.h>

void take_16(situ::am::token&, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int) {}
void take_17(situ::am::token&, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int) {}

void send(situ::place there) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::am::request_short<take_16>(there, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
#else
  situ::am::request_short<take_17>(there, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
#endif
}
