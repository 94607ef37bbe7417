// expect: the handler of a medium or long message takes \(token&, std::span<std::byte>, arguments...\); of a short one
#include <situ/fabric/am.h>

void take(situ::am::token&, std::span<std::byte>, int) {}

void send(situ::place there, std::span<const std::byte> payload) {
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::am::request_medium<take>(there, payload, 1);
#else
  static_cast<void>(payload);
  situ::am::request_short<take>(there, 1);
#endif
}
