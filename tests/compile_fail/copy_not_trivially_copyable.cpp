// expect: put and get move plain bytes, so T must be trivially copyable
#include <situ/fabric/rma.h>

#include <memory>

#ifdef SITU_COMPILE_FAIL_CONTROL
using element = situ::ptr<int>;
#else
using element = std::shared_ptr<int>;
#endif

void move(situ::ptr<element> to, situ::ptr<element> from) { situ::copy(to, situ::ptr<const element>{from}, 8); }
