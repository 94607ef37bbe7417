// expect: trivially copyable and at most 8 bytes: send larger values as a medium payload
#include <situ/fabric/am.h>

#include <memory>
#include <span>

#ifdef SITU_COMPILE_FAIL_CONTROL
void take(situ::am::token&, situ::ptr<int>) {}
void send(situ::place there, situ::ptr<int> value) { situ::am::request_short<take>(there, value); }
#else
void take(situ::am::token&, std::unique_ptr<int>) {}
void send(situ::place there) { situ::am::request_short<take>(there, std::unique_ptr<int>{}); }
#endif
