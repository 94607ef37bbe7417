// expect: account::name_
// expect: a standard container cannot travel
#include <situ/graph/clone.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
using text = situ::string;
#else
#include <string>
using text = std::string;
#endif

class account {
 public:
  SITU_DESCRIBE(account, balance_, name_)

 private:
  double balance_ = 0;
  text name_;
};
situ::owned<account> copy(const account& a) { return situ::clone(a); }
