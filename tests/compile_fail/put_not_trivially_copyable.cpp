// Bytes of a std::string mean nothing elsewhere.
// expect: put and get move plain bytes, so T must be trivially copyable
#include <situ/fabric/rma.h>

#include <string>

#ifdef SITU_COMPILE_FAIL_CONTROL
void write(situ::ptr<char> there, const std::string& name) { situ::put(there, name.data(), name.size()); }
#else
void write(situ::ptr<std::string> there, const std::string& name) { situ::put(there, name); }
#endif
