// expect: account::owners_
// expect: situ::vector
#include <situ/graph/clone.h>

#ifndef SITU_COMPILE_FAIL_CONTROL
#include <vector>
#endif

class account {
 public:
  SITU_DESCRIBE(account, balance_, owners_)

 private:
  double balance_ = 0;
#ifdef SITU_COMPILE_FAIL_CONTROL
  situ::vector<account*> owners_;
#else
  std::vector<account*> owners_;
#endif
};
situ::owned<account> copy(const account& a) { return situ::clone(a); }
