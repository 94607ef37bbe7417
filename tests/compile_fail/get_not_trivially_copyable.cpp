// expect: put and get move plain bytes, so T must be trivially copyable
#include <situ/fabric/rma.h>

#include <vector>

struct particle {
  double position[3];
#ifndef SITU_COMPILE_FAIL_CONTROL
  std::vector<int> neighbours;
#endif
};

particle read(situ::ptr<particle> there) { return situ::get(there); }
