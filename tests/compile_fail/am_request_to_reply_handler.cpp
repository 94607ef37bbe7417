// expect: the handler of a request takes a situ::am::token&, the handler of a reply a situ::am::reply_token&
#include <situ/fabric/am.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
void take(situ::am::token&, int) {}
#else
void take(situ::am::reply_token&, int) {}
#endif

void send(situ::place there) { situ::am::request_short<take>(there, 1); }
