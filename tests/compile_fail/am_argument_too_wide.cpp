// expect: trivially copyable and at most 8 bytes: send larger values as a medium payload
#include <situ/fabric/am.h>

struct point {
  float x, y;
#ifndef SITU_COMPILE_FAIL_CONTROL
  float z;
#endif
};

void take(situ::am::token&, point) {}

void send(situ::place there) { situ::am::request_short<take>(there, point{}); }
