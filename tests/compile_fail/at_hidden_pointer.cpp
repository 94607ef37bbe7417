// The members are private, and yet the compiler finds the pointer among them.
// expect: this class holds an address in its private members
// one error
#include <situ/runtime/at.h>

class handle {
 public:
  constexpr handle() = default;
  [[nodiscard]] bool is_set() const { return at_ != nullptr; }

 private:
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::ptr<int> at_;
#else
  int* at_ = nullptr;
#endif
};
bool ask(situ::place there, const handle& h) {
  return situ::at(there, [](const handle& g) { return g.is_set(); }, h);
}
