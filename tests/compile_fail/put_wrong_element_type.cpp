// An array of float is not an array of double, whatever the sizes are.
// expect: no matching function for call to 'put\(
#include <situ/fabric/rma.h>

#ifdef SITU_COMPILE_FAIL_CONTROL
void write(situ::ptr<double> there, const double* values) { situ::put(there, values, 10); }
#else
void write(situ::ptr<double> there, const float* values) { situ::put(there, values, 10); }
#endif
