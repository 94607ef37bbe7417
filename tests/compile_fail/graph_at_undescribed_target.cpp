// expect: T = inner
// expect: nothing is known of this class: list its fields once with SITU_DESCRIBE
#include <situ/graph/at.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
class inner {
 public:
  SITU_DESCRIBE(inner, next_)

 private:
  inner* next_ = nullptr;
};
#else
class inner {
 public:
  inner* next() const { return next_; }

 private:
  inner* next_ = nullptr;
};
#endif

bool ask(situ::place there, inner* p) {
  return situ::at(there, [](inner* q) { return q != nullptr; }, p);
}
