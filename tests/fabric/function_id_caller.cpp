// Loaded with dlopen by function_id_test: a module whose calls have handlers of its own, named by its static
// initialisers.
#include <situ/fabric/am.h>
#include <situ/runtime/at.h>

#include <string>

extern "C" int situ_test_ask_lambda(unsigned place) {
  return situ::at(situ::place{place}, [](int n) { return n + WHICH; }, 1);
}
extern "C" int situ_test_ask_lambda_with_text(unsigned place, unsigned long bytes) {
  return situ::at(
      situ::place{place}, [](const std::string& text) { return static_cast<int>(text.size()) + WHICH; },
      std::string(bytes, 'x'));
}
void situ_test_on_message(situ::am::token&, int) {}
extern "C" void situ_test_send_message(unsigned place) {
  situ::am::request_short<situ_test_on_message>(situ::place{place}, 1);
}
